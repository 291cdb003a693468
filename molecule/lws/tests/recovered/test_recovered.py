# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After one worker was deleted: its group has been made anew, and the other one was left alone."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def before(kept, by_group):
    return by_group(kept("serve"))


@pytest.fixture(scope="module")
def after(objects_of, by_group):
    return by_group(objects_of("serve", "pods"))


def test_group_of_the_lost_worker_is_whole_and_new(before, after, uids):
    assert [pod["status"]["phase"] for pod in after["0"]] == ["Running"] * 3
    assert len(uids(before["0"])) == 3
    assert not uids(before["0"]) & uids(after["0"])


def test_other_group_keeps_its_pods(before, after, uids):
    assert len(uids(before["1"])) == 3
    assert uids(after["1"]) == uids(before["1"])


def test_each_group_is_one_gang_again(objects_of):
    podgroups = objects_of("serve", "podgroups.scheduling.volcano.sh")
    assert [group["spec"]["minMember"] for group in podgroups] == [3, 3]
