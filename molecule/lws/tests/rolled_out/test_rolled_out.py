# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A roll-out with maxUnavailable 1, judged from every event that a watch of its pods recorded."""

from __future__ import annotations

import pytest

PODS = 6


@pytest.fixture(scope="module")
def moments(events):
    """The pods after each event, from the moment on when the watch had listed them all."""
    pods, seen = {}, []
    for event in events:
        pod = event["object"]
        pods.pop(pod["metadata"]["name"], None)
        if event["type"] != "DELETED":
            pods[pod["metadata"]["name"]] = pod
        seen.append(list(pods.values()))
    return seen[PODS - 1 :]


@pytest.fixture(scope="module")
def down(moments, by_group):
    """The groups that were down at each moment: not three pods that are ready and stay."""
    return [{index for index in ("0", "1") if sum(map(serves, by_group(pods).get(index, []))) < 3} for pods in moments]


def serves(pod):
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))
    return ready and "deletionTimestamp" not in pod["metadata"]


def test_never_more_than_one_group_is_down(down):
    assert max(map(len, down)) == 1


def test_groups_are_replaced_from_the_last_to_the_first(down):
    turns = [next(iter(each)) for each in down if each]
    assert [turn for turn, earlier in zip(turns, [None, *turns], strict=False) if turn != earlier] == ["1", "0"]


def test_both_groups_were_up_before_and_are_up_in_the_end(down):
    assert (down[0], down[-1]) == (set(), set())


def test_every_pod_is_a_new_one_of_the_new_release(moments, uids):
    assert not uids(moments[0]) & uids(moments[-1])
    assert [env(pod) for pod in moments[0]] == [{"RELEASE": "1"}] * PODS
    assert [env(pod) for pod in moments[-1]] == [{"RELEASE": "2"}] * PODS


def env(pod):
    return {
        each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"] if each["name"] == "RELEASE"
    }
