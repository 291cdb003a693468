# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a gang does not run, told from what a real server said."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from ansible_collections.kubegang.core.plugins.module_utils._explain import (
    Evidence,
    Gatekeepers,
    explain,
    member_reason,
    refusals,
)
from ansible_collections.kubegang.core.plugins.module_utils._gang import Member

from tests.unit.gangs import evidence_of, fixture, gangs_of


def told(said: dict[str, Any], **changes: Any) -> str:
    return "; ".join(explain(gangs_of(said)[0], evidence_of(said, **changes)))


@pytest.mark.parametrize("name", ["train", "mpi", "serve", "completed"])
def test_gang_that_runs_or_has_completed_needs_no_explanation(name: str) -> None:
    assert told(fixture(name)) == ""


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        (
            "oversized",
            [
                "Job is Pending; PodGroup is Inqueue (NotEnoughResources)",
                "oversized-worker-0, oversized-worker-1, oversized-worker-2 and 3 more: unschedulable",
                "needs 48 nvidia.com/gpu (6 pods, 8 each), 11 free on 4 nodes",
                "queue default is Open",
            ],
        ),
        ("oversized-lws", ["needs 48 nvidia.com/gpu (6 pods, 8 each), 11 free on 4 nodes; queue default is Open"]),
        ("too-large-pods", ["needs 32 nvidia.com/gpu (2 pods, 16 each), no node has more than 8"]),
        ("split", ["needs 16 nvidia.com/gpu (1 pod, 16 each), no node has more than 8"]),
        (
            "untolerated",
            ["4 node(s) had untolerated taint(s)", "no node takes 2 pods of it: 4 with taint nvidia.com/gpu"],
        ),
        ("over-capability", ["queue small may use 4 nvidia.com/gpu and uses 0, the gang wants 8"]),
        ("over-capability", ["over-capability-worker-1: would fit, waits for the rest of the gang"]),
        ("depends-on", ["4 of 5 pods exist; task master has no pod before its dependsOn worker is reached"]),
        ("stranger", ["no scheduler serves schedulerName volcanoo (Volcano serves volcano)"]),
        ("no-queue", ["it has no PodGroup; queue missing does not exist"]),
        ("leader-ready", ["1 of 3 pods exist", "workers are made once the leader is ready", "main is not ready"]),
        ("crash-loop", ["worker-1: container main exited with 1 (Error): CrashLoopBackOff, 4 restarts"]),
        ("failed", ["failed-worker-0, failed-worker-1: failed: container main exited with 3 (Error)"]),
        ("init", ["init-w-0: init container fetch-data is still running"]),
        ("no-image", ["no-image-w-0: container main: ImagePullBackOff registry.example/none:404"]),
        ("no-secret", ['no-secret-w-0: event FailedMount: MountVolume.SetUp failed for volume "v"']),
        ("never-started", ["never-started-worker-0, never-started-worker-1: its containers have not started yet"]),
        ("not-ready", ["not-ready-worker-0, not-ready-worker-1: container main is not ready"]),
    ],
)
def test_reason_is_told(name: str, reasons: list[str]) -> None:
    explanation = told(fixture(name))
    for reason in reasons:
        assert reason in explanation


def test_member_beyond_the_minimum_is_explained_though_the_gang_runs() -> None:
    said = fixture("not-ready")
    said["podgroups"][0]["spec"]["minMember"] = 1
    said["rows"][0]["cells"]["ready"] = "1/1"
    said["pods"].pop(0)
    assert told(said) == "not-ready-worker-1: container main is not ready"


def test_form_without_pods_is_explained_from_the_templates() -> None:
    said = fixture("oversized")
    said.update(rows=[], pods=[])
    said["podgroups"][0]["status"] = {"phase": "Pending"}
    assert told(said) == (
        "Job is Pending; PodGroup is Pending; 0 of 6 pods exist;"
        " needs 48 nvidia.com/gpu (6 pods, 8 each), 11 free on 4 nodes; queue default is Open"
    )


def test_rights_that_the_lws_controller_lacks_are_told_where_a_podgroup_is_missing() -> None:
    lacking = "LWS's controller (x) may not create podgroups.scheduling.volcano.sh"
    said = fixture("oversized-lws")
    assert lacking not in told(said, podgroup_rights=lacking)
    said["podgroups"].clear()
    assert f"it has no PodGroup; {lacking}" in told(said, podgroup_rights=lacking)
    said.update(rows=[], pods=[])
    assert f"its leader pod oversized-lws-0 does not exist; {lacking}" in told(said, podgroup_rights=lacking)


def test_exclusive_topology_that_keeps_a_gang_from_starting_is_told() -> None:
    said = fixture("leader-ready")
    said["workload"]["metadata"]["annotations"] = {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}
    said["workload"]["spec"]["startupPolicy"] = "LeaderCreated"
    said["rows"][0]["cells"] |= {"status": "Pending", "node": "<none>"}
    assert "exclusive topology" not in told(said)
    said["podgroups"][0]["spec"]["minMember"] = 3
    assert "workers are made once the leader has a node (exclusive topology), which the gang" in told(said)


def test_lws_form_without_pods_is_explained_from_the_templates() -> None:
    said = fixture("oversized-lws")
    said.update(rows=[], pods=[], podgroups=[])
    explanation = told(said)
    assert "neither PodGroup nor pods; its leader pod oversized-lws-0 does not exist" in explanation
    assert "needs 48 nvidia.com/gpu (6 pods, 8 each), 11 free on 4 nodes" in explanation


def test_largest_free_piece_is_named_where_the_sum_would_do() -> None:
    said = fixture("oversized")
    said["podgroups"][0]["spec"]["minMember"] = 1
    used = {"gpu-0000": gpus(8), "gpu-0001": gpus(5), "gpu-0002": gpus(4), "gpu-0003": gpus(5)}
    assert "needs 8 nvidia.com/gpu per pod, largest free 4 on gpu-0002" in told(said, used=used)


def test_room_in_the_wrong_pieces_is_counted() -> None:
    said = fixture("oversized")
    said["podgroups"][0]["spec"]["minMember"] = 3
    used = {"gpu-0000": gpus(0), "gpu-0001": gpus(4), "gpu-0002": gpus(4), "gpu-0003": gpus(0)}
    assert "room for 2 of 3 pods on 4 nodes (8 nvidia.com/gpu, " in told(said, used=used)


def test_pod_that_no_single_node_can_serve_is_told() -> None:
    said = fixture("oversized")
    nodes = evidence_of(said).nodes
    for node in nodes or ():
        resource = "cpu" if node["metadata"]["name"] == "node-0" else "nvidia.com/gpu"
        node["status"]["allocatable"] = {resource: "64", "memory": "64Gi"}
    assert "no node has all that one of its pods requests" in told(said, nodes=nodes)


def gpus(count: int) -> dict[str, Decimal]:
    return {"nvidia.com/gpu": Decimal(count)}


@pytest.mark.parametrize("state", ["Closed", "Closing"])
def test_queue_that_takes_nothing_is_a_refusal(state: str) -> None:
    said = fixture("oversized")
    queues = {"default": {"status": {"state": state}}}
    assert refusals(gangs_of(said)[0], Gatekeepers(queues)) == [f"queue default is {state}"]
    assert told(said, gatekeepers=Gatekeepers(queues)).count("queue default") == 1


def test_limit_of_a_queue_above_is_told() -> None:
    said = fixture("oversized")
    limited = {"spec": {"capability": {"nvidia.com/gpu": "40"}}, "status": {"allocated": {"nvidia.com/gpu": "2"}}}
    queues = {"default": {"spec": {"parent": "research"}}, "research": limited}
    explanation = told(said, gatekeepers=Gatekeepers(queues))
    assert "queue research may use 40 nvidia.com/gpu and uses 2, the gang wants 48" in explanation


@pytest.mark.parametrize(
    ("name", "gatekeepers"),
    [
        ("oversized", Gatekeepers({"default": {"status": {"state": "Open"}}}, {"volcano"})),
        ("oversized", Gatekeepers()),
        ("stranger", Gatekeepers()),
        ("stranger", Gatekeepers(schedulers={"volcano", "volcanoo"})),
        ("train", Gatekeepers({"default": {"status": {"state": "Closing"}}}, {"volcano"})),
    ],
)
def test_nothing_is_refused_without_proof(name: str, gatekeepers: Gatekeepers) -> None:
    assert refusals(gangs_of(fixture(name))[0], gatekeepers) == []


def test_pods_of_the_default_scheduler_are_no_gang() -> None:
    said = fixture("oversized-lws")
    del said["workload"]["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["schedulerName"]
    assert "its pods ask for schedulerName default-scheduler" in told(said)
    assert refusals(gangs_of(said)[0], Gatekeepers(schedulers={"volcano"})) == []


def test_podgroup_that_nobody_looked_at_is_told() -> None:
    said = fixture("stranger")
    said.update(rows=[], pods=[])
    del said["podgroups"][0]["status"]
    explanation = told(said)
    assert "its PodGroup has not been picked up by a scheduler" in explanation
    assert "volcanoo" in explanation


def test_condition_that_a_newer_one_has_overtaken_is_not_told() -> None:
    said = fixture("never-started")
    said["rows"][0]["cells"]["node"] = "<none>"
    conditions = said["podgroups"][0]["status"]["conditions"]
    conditions.append(
        {"type": "Unschedulable", "reason": "NotEnoughResources", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    )
    assert "NotEnoughResources" not in told(said)


def test_creation_of_pods_that_fails_is_told_from_its_event() -> None:
    said = fixture("oversized")
    said.update(rows=[], pods=[])
    denied = "pods forbidden: exceeded quota: gpus"
    said["events"] = [
        {"reason": "FailedCreate", "message": denied, "involvedObject": {"kind": "Job", "name": "oversized"}},
        {"reason": "FailedCreate", "message": "foreign", "involvedObject": {"kind": "Job", "name": "other"}},
    ]
    explanation = told(said)
    assert f"event FailedCreate: {denied}" in explanation
    assert "foreign" not in explanation


def test_gang_of_a_thousand_is_explained_in_a_few_lines() -> None:
    said = fixture("oversized")
    row, pod = said["rows"][0], said["pods"][0]
    said["rows"] = [{**row, "metadata": {**row["metadata"], "name": f"w-{index}"}} for index in range(1000)]
    said["pods"] = [{**pod, "metadata": {"name": f"w-{index}"}} for index in range(1000)]
    said["podgroups"][0]["spec"]["minMember"] = 1000
    explanation = told(said)
    assert "w-0, w-1, w-2 and 997 more: unschedulable; needs 8000 nvidia.com/gpu" in explanation
    assert len(explanation) < 300


def test_rare_reasons_are_only_counted() -> None:
    said = fixture("oversized")
    for index, pod in enumerate(said["pods"]):
        pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": f"reason {index}"}]
    assert "3 more pods for other reasons" in told(said)


def test_what_may_not_be_read_is_said_and_hides_nothing() -> None:
    said = fixture("oversized")
    explanation = told(said, nodes=None, used=None, unread=["could not list nodes: forbidden"])
    assert "oversized-worker-0" in explanation
    assert "could not list nodes: forbidden" in explanation
    assert "free" not in explanation


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (
            {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."},
            "failed: The node was low on resource: memory",
        ),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "held back by scheduling gate example.com/quota",
        ),
        (
            {
                "phase": "Pending",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "reason": "Unschedulable",
                        "message": "pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable."
                        " Origin reason is w-1: 0/4 nodes are unavailable: 4 Insufficient cpu.",
                    }
                ],
            },
            "0/4 nodes are unavailable: 4 Insufficient cpu",
        ),
        (
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": []},
            "not looked at by a scheduler (schedulerName volcano)",
        ),
    ],
)
def test_member_without_a_node_tells_its_own_reason(status: dict[str, Any], reason: str) -> None:
    spec = {"schedulerName": "volcano", "schedulingGates": [{"name": "example.com/quota"}]}
    pods = {"w-0": {"metadata": {"name": "w-0"}, "spec": spec, "status": status}}
    assert member_reason(Member("w-0"), Evidence(pods=pods)) == reason


def test_member_that_is_leaving_or_gone_or_done_has_no_other_reason() -> None:
    assert member_reason(Member("w-0", leaving=True), Evidence()) == "is being deleted"
    assert member_reason(Member("w-0"), Evidence()) == ""
    assert member_reason(Member("w-0", ended="Succeeded"), Evidence()) == ""
