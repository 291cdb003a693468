# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups that ran while LWS made no gangs, from what was kept and recorded, and the same groups with gangs on again."""

from __future__ import annotations

import time

LABEL = "leaderworkerset.sigs.k8s.io"
GROUP = "scheduling.k8s.io/group-name"


def test_without_gangs_groups_ran_and_named_no_podgroup(kept):
    assert [pod["status"]["phase"] for pod in kept("plain")] == ["Running"] * 4
    assert [pod["metadata"]["annotations"].get(GROUP) for pod in kept("plain")] == [None] * 4


def test_without_gangs_no_podgroup_came_for_them(events):
    groups = {event["object"]["metadata"]["labels"].get(f"{LABEL}/name") for event in events}
    assert "large" in groups  # The watch was on.
    assert "plain" not in groups


def test_with_gangs_again_each_group_is_one(objects_of):
    end = time.monotonic() + 20
    while len(podgroups := objects_of("plain", "podgroups.scheduling.volcano.sh")) < 2 and time.monotonic() < end:
        time.sleep(0.5)
    assert [group["spec"]["minMember"] for group in podgroups] == [2, 2]
    named = {pod["metadata"]["annotations"][GROUP] for pod in objects_of("plain", "pods")}
    assert named == {group["metadata"]["name"] for group in podgroups}
