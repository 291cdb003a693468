# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After GPUs came free: the group that waited runs whole."""

from __future__ import annotations


def test_the_very_pods_that_waited_run_on_six_nodes(objects_of, kept, uids):
    pods = objects_of("large", "pods")
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 6
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 6
    assert [pod["spec"].get("nodeName") for pod in kept("large")] == [None] * 6
    assert uids(pods) == uids(kept("large"))


def test_groups_that_made_way_are_gone(objects_of):
    assert objects_of("serve", "pods,podgroups.scheduling.volcano.sh") == []
