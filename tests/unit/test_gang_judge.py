# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as a gang that runs, has completed, or is held: judged over what a real server said."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.kubegang.core.plugins.module_utils._cluster import Row
from ansible_collections.kubegang.core.plugins.module_utils._gang import Gang, Member, Snapshot, Target, podgroup_gang
from ansible_collections.kubegang.core.plugins.module_utils._judge import Expectation, judge

from tests.unit.gangs import fixture, gangs_of, snapshot_of

RACK = "topology.kubegang.dev/rack"


def verdict(said: dict[str, Any], **expectation: Any) -> tuple[bool, bool, str]:
    outcome = judge(snapshot_of(said), Expectation(**expectation))
    return outcome.satisfied, outcome.final, "; ".join(outcome.reasons)


@pytest.mark.parametrize(
    ("name", "expectation"),
    [
        ("train", {}),
        ("train", {"distinct_nodes": True, "same_topology": RACK, "queue": "default", "every_task_minimum": True}),
        ("mpi", {}),
        ("mpi", {"every_task_minimum": True}),
        ("serve", {}),
        ("not-ready", {"require_ready": False}),
        ("completed", {"accept_finished": True}),
        ("completed", {"state": "completed"}),
        ("oversized", {"state": "held"}),
        ("oversized-lws", {"state": "held"}),
        ("over-capability", {"state": "held"}),
    ],
)
def test_gang_is_as_expected(name: str, expectation: dict[str, Any]) -> None:
    assert verdict(fixture(name), **expectation) == (True, False, "")


@pytest.mark.parametrize(
    ("name", "expectation", "reason"),
    [
        ("oversized", {}, "gang team-a/oversized: 0 of 6 pods bound"),
        ("oversized-lws", {}, "gang team-a/oversized-lws-0: 0 of 6 pods bound"),
        ("crash-loop", {}, "0 of 2 pods running"),
        ("not-ready", {}, "0 of 2 pods ready"),
        ("init", {}, "0 of 1 pods running"),
        ("leader-ready", {}, "1 of 3 pods bound"),
        ("train", {"state": "completed"}, "the Job is Running: 0 of 4 pods succeeded"),
        ("mpi", {"state": "completed"}, "the Job is Running: 1 of 3 pods succeeded"),
        ("train", {"state": "held"}, "4 of 4 pods bound (train-worker-0 on gpu-"),
        ("no-queue", {"state": "held"}, "no PodGroup yet"),
        ("stranger", {"state": "held"}, "no scheduler has found its pods unschedulable"),
    ],
)
def test_gang_is_not_yet_as_expected(name: str, expectation: dict[str, Any], reason: str) -> None:
    satisfied, final, said = verdict(fixture(name), **expectation)
    assert (satisfied, final) == (False, False)
    assert reason in said


@pytest.mark.parametrize(
    ("name", "expectation", "reason"),
    [
        ("failed", {}, "Job is Failed: 0 of its pods succeeded, 2 failed"),
        ("failed", {"state": "completed"}, "Job is Failed"),
        ("failed", {"state": "held"}, "Job is Failed"),
        ("completed", {}, "it has completed"),
        ("completed", {"state": "held"}, "it has completed"),
        ("serve", {"state": "completed"}, "never completes"),
        ("train", {"queue": "research"}, "it is in queue default, not in research"),
        ("train", {"same_topology": "zone"}, "no label zone on gpu-0000, gpu-0001, gpu-0002 and 1 more"),
    ],
)
def test_waiting_longer_would_be_of_no_use(name: str, expectation: dict[str, Any], reason: str) -> None:
    satisfied, final, said = verdict(fixture(name), **expectation)
    assert (satisfied, final) == (False, True)
    assert reason in said


def test_phase_running_is_no_proof_when_a_pod_is_pending() -> None:
    said = fixture("train")
    said["rows"][0]["cells"] = {"ready": "0/1", "status": "Pending", "node": "<none>"}
    assert verdict(said) == (False, False, "gang team-a/train: 3 of 4 pods bound")


def test_running_pods_are_no_proof_while_the_job_restarts() -> None:
    said = fixture("train")
    said["workload"]["status"]["state"]["phase"] = "Restarting"
    assert verdict(said) == (False, False, "gang team-a/train: enough pods run, yet the Job is Restarting")


def test_failed_pod_does_not_count() -> None:
    said = fixture("train")
    said["rows"][0].update(cells={"ready": "0/1", "status": "Error", "node": "gpu-0000"}, ended="Failed")
    assert verdict(said)[2] == "gang team-a/train: 3 of 4 pods running"


def test_pod_that_is_being_deleted_does_not_count() -> None:
    said = fixture("train")
    said["rows"][0]["metadata"]["deletionTimestamp"] = "2026-11-30T12:10:00Z"
    assert verdict(said)[2] == "gang team-a/train: 3 of 4 pods bound"


def test_gang_whose_pods_are_all_leaving_is_held_again() -> None:
    said = fixture("oversized")
    said["rows"][0]["cells"]["node"] = "gpu-0000"
    assert not verdict(said, state="held")[0]
    said["rows"][0]["metadata"]["deletionTimestamp"] = "2026-11-30T12:10:00Z"
    assert verdict(said, state="held")[0]


def test_pods_of_an_earlier_job_of_the_same_name_do_not_count() -> None:
    said = fixture("train")
    said["workload"]["metadata"]["uid"] = "a-later-life"
    assert gangs_of(said)[0].members == ()


def test_orphans_of_an_earlier_job_are_told_by_the_podgroup_they_name() -> None:
    said = fixture("train")
    for row in said["rows"]:
        del row["metadata"]["ownerReferences"]
    assert len(gangs_of(said)[0].members) == 4
    said["workload"]["metadata"]["uid"] = "a-later-life"
    assert gangs_of(said)[0].members == ()


def test_pods_older_than_their_lws_do_not_count() -> None:
    said = fixture("serve")
    said["workload"]["metadata"]["creationTimestamp"] = "2026-11-30T13:00:00Z"
    assert [gang.members for gang in gangs_of(said)] == [(), ()]


def test_lws_group_needs_its_whole_size_although_leader_ready_lowers_min_member() -> None:
    gang = gangs_of(fixture("leader-ready"))[0]
    assert (gang.min_member, gang.needed) == (1, 3)


def test_every_wanted_replica_is_a_gang_even_before_it_has_pods() -> None:
    said = fixture("serve")
    said["workload"]["spec"]["replicas"] = 3
    assert verdict(said) == (False, False, "gang team-a/serve-2: 0 of 2 pods bound")


def test_surplus_lws_group_is_left_out() -> None:
    said = fixture("serve")
    said["workload"]["spec"]["replicas"] = 1
    assert [gang.name for gang in gangs_of(said)] == ["serve-0"]


def test_lws_change_that_the_controller_has_not_seen_is_waited_for() -> None:
    said = fixture("serve")
    said["workload"]["metadata"]["generation"] += 1
    assert "has not yet acted on the latest change" in verdict(said)[2]


def test_lws_without_replicas_is_no_success() -> None:
    said = fixture("serve")
    said["workload"]["spec"]["replicas"] = 0
    assert verdict(said) == (False, False, "LeaderWorkerSet team-a/serve has no gang: its replicas are 0")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (Target("Job", "team-a", "never"), "Job team-a/never not found"),
        (Target("", "team-a", labels="team=nlp"), "no gang with labels team=nlp in namespace team-a"),
        (Target("PodGroup", "team-a"), "no PodGroup in namespace team-a"),
    ],
)
def test_nothing_there_is_never_a_success(target: Target, reason: str) -> None:
    outcome = judge(Snapshot(target, found=False), Expectation())
    assert (outcome.satisfied, outcome.final, list(outcome.reasons)) == (False, False, [reason])


def test_all_members_succeeded_is_not_running() -> None:
    said = fixture("mpi")
    for row in said["rows"]:
        row.update(cells={"ready": "0/1", "status": "Completed", "node": "gpu-0000"}, ended="Succeeded")
    assert verdict(said) == (False, False, "gang team-a/mpi: 0 of 3 pods running")


def test_completed_job_whose_pods_all_failed_is_not_completed() -> None:
    said = fixture("completed")
    for row in said["rows"]:
        row["ended"] = "Failed"
    assert verdict(said, state="completed")[:2] == (False, True)


def test_completed_job_whose_pods_are_gone_is_believed() -> None:
    said = fixture("completed")
    said["rows"] = []
    assert verdict(said, state="completed")[0]


def test_task_below_its_own_minimum_fails_only_when_asked() -> None:
    said = fixture("train")
    said["podgroups"][0]["spec"]["minMember"] = 3
    said["rows"].pop()
    assert verdict(said)[0]
    reason = "gang team-a/train: task worker: 3 of its minimum of 4 pods ready"
    assert verdict(said, every_task_minimum=True) == (False, False, reason)


def test_pods_that_share_a_node_or_spread_over_racks_stay_where_they_are() -> None:
    said = fixture("train")
    for row, node in zip(said["rows"], ["gpu-0000", "gpu-0000", "gpu-0001", "gpu-0002"], strict=True):
        row["cells"]["node"] = node
    reason = "gang team-a/train: 2 pods share node gpu-0000 (train-worker-0, train-worker-1)"
    assert verdict(said, distinct_nodes=True) == (False, True, reason)
    snapshot = snapshot_of(said)
    snapshot.nodes["gpu-0002"][RACK] = "rack-1"  # type: ignore[index]
    outcome = judge(snapshot, Expectation(same_topology=RACK))
    assert list(outcome.reasons) == [f"gang team-a/train: pods spread over 2 values of {RACK}: rack-0 (3), rack-1 (1)"]


def test_placement_is_judged_only_once_the_gang_runs() -> None:
    assert "share node" not in verdict(fixture("crash-loop"), distinct_nodes=True)[2]


@pytest.mark.parametrize(
    ("cells", "running", "ready"),
    [
        ({"status": "Running", "ready": "2/2", "node": "n"}, True, True),
        ({"status": "Running", "ready": "1/2", "node": "n"}, True, False),
        ({"status": "NotReady", "ready": "1/2", "node": "n"}, True, False),
        ({"status": "CrashLoopBackOff", "ready": "1/2", "node": "n"}, False, False),
        ({"status": "Completed", "ready": "0/1", "node": "n"}, False, False),
    ],
)
def test_member_runs_by_what_kubectl_prints(cells: dict[str, str], running: bool, ready: bool) -> None:
    member = Member.of(Row({"name": "w-0"}, cells))
    assert (member.running, member.running and member.ready) == (running, ready)


def test_restarting_pod_that_shows_completed_has_not_succeeded() -> None:
    member = Member.of(Row({"name": "w-0"}, {"status": "Completed", "ready": "0/1", "node": "n"}))
    assert Gang("g", "ns", "PodGroup", (member,)).succeeded == 0


def test_lone_podgroup_is_judged_by_its_pods_alone() -> None:
    said = fixture("serve")
    rows = [Row(**row) for row in said["rows"]]
    gang = podgroup_gang(said["podgroups"][0], rows)
    assert (gang.running, gang.needed, gang.workload) == (2, 2, "serve")


def test_members_are_in_natural_order() -> None:
    names = [f"w-{index}" for index in (10, 2, 1)]
    rows = [
        Row(
            {"name": name, "annotations": {"scheduling.k8s.io/group-name": "g"}},
            {"status": "", "ready": "", "node": ""},
        )
        for name in names
    ]
    gang = podgroup_gang({"metadata": {"name": "g", "namespace": "ns"}}, rows)
    assert [member.name for member in gang.members] == ["w-1", "w-2", "w-10"]


def test_facts_count_each_task() -> None:
    facts = gangs_of(fixture("mpi"))[0].facts
    assert (facts["running"], facts["succeeded"], facts["min_member"]) == (2, 1, 3)
    assert facts["tasks"]["launcher"]["succeeded"] == 1
    assert facts["tasks"]["worker"]["running"] == facts["tasks"]["worker"]["min_available"] == 2


def rolled(said: dict[str, Any], *, partition: int = 0, updated: int, to_last: bool = True) -> dict[str, Any]:
    """The fixture in the middle of a roll-out: its last group was made from a newer template, or not yet."""
    said["workload"]["status"]["updatedReplicas"] = updated
    said["workload"]["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["partition"] = partition
    for row in said["rows"]:
        if to_last and row["metadata"]["name"].startswith("serve-1"):
            row["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/template-revision-hash"] = "newer"
    return said


@pytest.mark.parametrize(
    ("rollout", "partition", "updated", "to_last", "satisfied", "final", "reason"),
    [
        ("complete", 0, 2, False, True, False, ""),
        ("partitioned", 0, 2, False, True, False, ""),
        # Half way: groups are replaced from the highest index down.
        ("", 0, 1, True, True, False, ""),
        ("partitioned", 0, 1, True, False, False, "gang team-a/serve-0: the roll-out has not reached it"),
        # The controller knows the newer template, and no group was made from it.
        ("complete", 0, 0, False, False, False, "gang team-a/serve-1: the roll-out has not reached it"),
        ("partitioned", 1, 1, True, True, False, ""),
        ("complete", 1, 1, True, False, True, "gang team-a/serve-0: partition 1 holds the roll-out"),
    ],
)
def test_how_far_a_roll_out_has_come(
    rollout: str, partition: int, updated: int, to_last: bool, satisfied: bool, final: bool, reason: str
) -> None:
    said = rolled(fixture("serve"), partition=partition, updated=updated, to_last=to_last)
    outcome = verdict(said, rollout=rollout)
    assert outcome[:2] == (satisfied, final)
    assert reason in outcome[2]
    assert sum(gang.updated for gang in gangs_of(said)) == updated


def test_a_roll_out_is_not_over_while_a_surplus_group_is_left() -> None:
    said = fixture("serve")
    said["workload"]["status"]["replicas"] = 3
    reason = "gang team-a/serve-1: the roll-out has left 1 surplus group"
    assert verdict(said, rollout="complete") == (False, False, reason)


def test_a_job_has_no_roll_out() -> None:
    assert verdict(fixture("train"), rollout="complete") == (False, True, "gang team-a/train: a Job has no roll-out")


def test_workers_of_an_earlier_leader_do_not_count() -> None:
    said = fixture("serve")
    said["rows"][0]["metadata"]["creationTimestamp"] = "2026-11-30T13:00:00Z"
    assert verdict(said) == (False, False, "gang team-a/serve-0: 1 of 2 pods bound")


def test_workers_of_an_earlier_template_do_not_count() -> None:
    said = fixture("serve")
    said["rows"][1]["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/template-revision-hash"] = "earlier"
    assert verdict(said) == (False, False, "gang team-a/serve-0: 1 of 2 pods bound")


def test_running_pods_are_no_gang_while_the_podgroup_that_they_name_is_missing() -> None:
    said = fixture("serve")
    gone = said["podgroups"].pop(0)["metadata"]["name"]
    reason = f"gang team-a/serve-0: its pods run, yet the PodGroup {gone} that they name does not exist"
    assert verdict(said) == (False, False, reason)


def test_groups_of_an_lws_without_gang_scheduling_are_judged_by_their_pods() -> None:
    said = fixture("serve")
    said["podgroups"].clear()
    for row in said["rows"]:
        del row["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
    assert verdict(said) == (True, False, "")
