# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module volcano_queue on a cluster where Volcano runs."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("volcano")
QUEUES = "queues.scheduling.volcano.sh"


@pytest.fixture
def name(namespace, kubectl):
    """A queue's name of this test's own; the queue is removed with its children."""
    yield namespace
    left = [queue["metadata"]["name"] for queue in kubectl.items(QUEUES)]
    for queue in sorted((queue for queue in left if queue.startswith(namespace)), key=len, reverse=True):
        kubectl("delete", QUEUES, queue, "--wait=true")


def test_a_new_queue_is_open_when_the_task_ends(run_module, kubectl, name):
    result = run_module("volcano_queue", name=name)
    assert result["state"] == "Open"
    assert kubectl.get(QUEUES, name)["status"]["state"] == "Open"


def test_a_queue_is_closed_and_opened_once_each(run_module, kubectl, name):
    run_module("volcano_queue", name=name)
    for wanted, state in (("closed", "Closed"), ("open", "Open")):
        predicted = run_module("volcano_queue", check=True, name=name, state=wanted)
        assert predicted.changed
        assert predicted["diff"]["after"]["state"] == state
        assert kubectl.get(QUEUES, name)["status"]["state"] != state
        assert run_module("volcano_queue", name=name, state=wanted).changed
        assert kubectl.get(QUEUES, name)["status"]["state"] == state
        assert not run_module("volcano_queue", name=name, state=wanted).changed


def test_a_queue_that_does_not_exist_is_created_closed(run_module, kubectl, name):
    assert run_module("volcano_queue", check=True, name=name, state="closed").changed
    assert kubectl.get(QUEUES, name) is None
    assert run_module("volcano_queue", name=name, state="closed", weight=2).changed
    found = kubectl.get(QUEUES, name)
    assert (found["status"]["state"], found["spec"]["weight"]) == ("Closed", 2)


def test_present_leaves_a_closed_queue_closed(run_module, kubectl, name):
    run_module("volcano_queue", name=name, state="closed")
    result = run_module("volcano_queue", name=name, weight=5)
    assert result.changed
    assert result["state"] == "Closed"


def test_amounts_in_another_spelling_are_no_change(run_module, audit_log, name):
    run_module("volcano_queue", name=name, capability={"cpu": "1000m", "memory": "1024Mi", "nvidia.com/gpu": "8"})
    mark = audit_log.mark()
    again = run_module("volcano_queue", name=name, capability={"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": 8})
    assert not again.changed
    assert not audit_log.writes(mark)


def test_a_resource_that_is_no_longer_named_is_no_longer_limited(run_module, kubectl, name):
    run_module("volcano_queue", name=name, capability={"cpu": 4, "nvidia.com/gpu": 8})
    assert run_module("volcano_queue", name=name, capability={"nvidia.com/gpu": 8}).changed
    assert kubectl.get(QUEUES, name)["spec"]["capability"] == {"nvidia.com/gpu": "8"}


def test_what_the_task_does_not_mention_stays(run_module, kubectl, name):
    run_module("volcano_queue", name=name, weight=3, reclaimable=False)
    run_module("volcano_queue", name=name, weight=4)
    spec = kubectl.get(QUEUES, name)["spec"]
    assert (spec["weight"], spec["reclaimable"]) == (4, False)


@pytest.mark.parametrize("built_in", ["default", "root"])
@pytest.mark.parametrize("check", [True, False])
def test_a_queue_that_volcano_keeps_is_not_removed(run_module, kubectl, built_in, check):
    result = run_module("volcano_queue", check=check, name=built_in, state="absent")
    assert result.failed
    assert not result.changed
    assert f"'{built_in}'" in result.msg
    assert kubectl.get(QUEUES, built_in)


@pytest.mark.parametrize("check", [True, False])
def test_a_queue_with_children_is_not_removed_and_the_children_are_named(run_module, kubectl, name, check):
    run_module("volcano_queue", name=name)
    assert not run_module("volcano_queue", name=f"{name}-child", parent=name).failed
    result = run_module("volcano_queue", check=check, name=name, state="absent")
    assert result.failed
    assert not result.changed
    assert f"{name}-child" in result.msg
    assert kubectl.get(QUEUES, name)


def test_what_the_webhook_refuses_fails_with_its_words_and_changes_nothing(run_module, kubectl, name):
    result = run_module("volcano_queue", name=name, deserved={"cpu": 4}, capability={"cpu": 2})
    assert result.failed
    assert not result.changed
    assert "deserved" in result.msg
    assert kubectl.get(QUEUES, name) is None


def test_a_name_that_cannot_be_is_refused_before_any_request(run_module, audit_log):
    mark = audit_log.mark()
    result = run_module("volcano_queue", name="Not_A_Name")
    assert "option name: 'Not_A_Name'" in result.msg
    assert not audit_log.writes(mark)
