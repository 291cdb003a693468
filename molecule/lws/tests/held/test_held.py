# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A group that needs more than is free: nobody of it gets a node, however often one looks."""

from __future__ import annotations

import time


def test_nobody_is_bound_for_ten_seconds(objects_of):
    looks, end = 0, time.monotonic() + 10
    while time.monotonic() < end:
        pods = objects_of("large", "pods")
        assert [(pod["status"]["phase"], pod["spec"].get("nodeName")) for pod in pods] == [("Pending", None)] * 6
        looks += 1
        time.sleep(0.3)
    assert looks > 5


def test_it_waits_as_one_gang_of_six(objects_of):
    [podgroup] = objects_of("large", "podgroups.scheduling.volcano.sh")
    assert podgroup["spec"]["minMember"] == 6
    assert podgroup["status"]["phase"] in ("Pending", "Inqueue")


def test_groups_that_run_are_left_alone(objects_of):
    assert [pod["status"]["phase"] for pod in objects_of("serve", "pods")] == ["Running"] * 6
