# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module leader_worker_set on a cluster where LWS makes gangs for Volcano, with simulated GPU nodes of 8 GPUs each."""

from __future__ import annotations

import time

import pytest

from tests.support import lws

pytestmark = pytest.mark.usefixtures("volcano")
LWS = "leaderworkersets.leaderworkerset.x-k8s.io"
PODGROUPS = "podgroups.scheduling.volcano.sh"
QUEUE = "scheduling.volcano.sh/queue-name"
REVISION = "leaderworkerset.sigs.k8s.io/template-revision-hash"
GROUP = "leaderworkerset.sigs.k8s.io/group-index"
TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
PATIENT = 60


def template(gpus=1, image="busybox:1.36", **spec):
    container = {"name": "main", "image": image, "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {"spec": {"terminationGracePeriodSeconds": 1, "tolerations": TOLERATIONS, "containers": [container], **spec}}


@pytest.fixture
def live(kubectl, namespace):
    return lambda name="serve": kubectl.get(LWS, name, "--namespace", namespace)


@pytest.fixture
def pods(kubectl, namespace):
    return lambda *arguments: kubectl.items("pods", "--namespace", namespace, *arguments)


@pytest.fixture
def submit(run_module, namespace):
    """``submit(replicas=…, worker_template=…)``: the LeaderWorkerSet ``serve`` in the test's namespace."""

    def run(check=False, **options):
        given = {"name": "serve", "namespace": namespace, "wait_timeout": PATIENT, **options}
        if given.get("state") != "absent" and "definition" not in given:
            given.setdefault("worker_template", template())
        return run_module("leader_worker_set", check=check, **given)

    return run


@pytest.fixture
def assert_groups(run_module, namespace):
    def run(**options):
        return run_module("gang_assert", kind="LeaderWorkerSet", name="serve", namespace=namespace, **options)

    return run


def by_group(pods, label):
    """What a label of each group's pods says, by the group's index."""
    groups = {}
    for pod in pods:
        labels = pod["metadata"]["labels"]
        groups.setdefault(labels[GROUP], set()).add(labels[label])
    return groups


def test_running_ends_when_every_pod_of_every_group_runs_and_absent_when_none_is_left(
    submit, live, pods, kubectl, namespace
):
    result = submit(replicas=2, size=3, wait_for="running")
    assert not result.failed, result.msg
    assert [pod["status"]["phase"] for pod in pods()] == ["Running"] * 6
    groups = kubectl.items(PODGROUPS, "--namespace", namespace)
    assert [group["spec"]["minMember"] for group in groups] == [3, 3]
    assert result["object"]["status"]["replicas"] == 2

    scaled = submit(replicas=0, size=3, wait_for="running")
    assert not scaled.failed, scaled.msg
    assert pods() == []
    assert live()["spec"]["replicas"] == 0

    submit(replicas=1, size=3, wait_for="running")
    gone = submit(state="absent")
    assert gone.changed
    assert live() is None
    assert pods() == []


def test_a_group_that_does_not_fit_binds_nobody_and_says_why(submit, pods):
    result = submit(size=6, worker_template=template(gpus=8), wait_for="running", wait_timeout=8)
    assert result.failed
    assert result.changed, "it was created"
    assert "gang" in result.msg
    assert "serve-0: 0 of 6 pods bound" in result.msg
    assert "needs 48 nvidia.com/gpu (6 pods, 8 each), 32 free on 4 nodes" in result.msg
    assert [pod["spec"].get("nodeName") for pod in pods()] == [None] * 6


def test_two_templates_get_the_scheduler_and_keep_their_own_words(submit, live):
    leader = template(
        hostNetwork=True, hostIPC=True, dnsPolicy="ClusterFirstWithHostNet", volumes=[{"name": "shm", "emptyDir": {}}]
    )
    leader["spec"]["containers"][0]["args"] = ["--port", "8100", "--ranks", "$(LWS_GROUP_SIZE)"]
    worker = template(hostNetwork=True, schedulerName="volcano")
    options = {"size": 2, "leader_template": leader, "worker_template": worker}
    assert submit(**options).changed
    stored = live()["spec"]["leaderWorkerTemplate"]
    assert {name: stored[name]["spec"]["schedulerName"] for name in ("leaderTemplate", "workerTemplate")} == {
        "leaderTemplate": "volcano",
        "workerTemplate": "volcano",
    }
    assert stored["leaderTemplate"]["spec"]["containers"][0]["args"] == [
        "--port",
        "8100",
        "--ranks",
        "$(LWS_GROUP_SIZE)",
    ]
    assert stored["leaderTemplate"]["spec"]["hostNetwork"] is True
    again = submit(**options)
    assert not again.failed
    assert not again.changed

    refused = submit(name="mixed", leader_template=template(schedulerName="other-scheduler"), worker_template=worker)
    assert refused.failed
    assert "other-scheduler" in refused.msg
    assert live("mixed") is None


def test_the_longest_name_that_is_taken_works_for_every_template(submit, pods):
    assert not submit(name="a" * 50, size=2, wait_for="running").failed
    assert len(pods()) == 2


# Between 51 and 53 it depends on how many digits the hash of a template has whether workers can be created.
@pytest.mark.parametrize("length", [51, 55])
def test_a_longer_name_is_refused_before_anything_is_created(length, submit, live):
    name = "a" * length
    for check in (True, False):
        result = submit(name=name, size=2, check=check)
        assert result.failed
        assert "name" in result.msg
        assert "at most 50" in result.msg
        assert live(name) is None


def test_the_server_takes_a_longer_name_and_then_no_worker_appears(live, pods, kubectl, namespace):
    name = "a" * 55
    group = {"size": 2, "workerTemplate": template(schedulerName="volcano")}
    metadata = {"name": name, "namespace": namespace}
    kubectl.apply(
        {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": metadata,
            "spec": {"leaderWorkerTemplate": group},
        }
    )
    time.sleep(5)
    assert live(name) is not None
    assert len(pods()) < 2


def test_subgroups_cannot_change_and_sizes_must_fit_them(submit, live):
    options = {"size": 8, "sub_group_policy": {"size": 4}}
    assert submit(**options).changed
    uid = live()["metadata"]["uid"]
    for check in (True, False):
        refused = submit(check=check, **{**options, "size": 10})
        assert refused.failed
        assert "size is 10" in refused.msg
        assert "subGroupSize" in refused.msg
        # The size alone, as a manifest would say it that leaves the subgroups to what is stored.
        refused = submit(check=check, size=10)
        assert refused.failed
        assert "subGroupSize" in refused.msg
        refused = submit(check=check, size=8, sub_group_policy={"size": 2})
        assert refused.failed
        assert "subGroupPolicy.subGroupSize cannot change" in refused.msg
        assert "on_immutable" in refused.msg
    assert live()["spec"]["leaderWorkerTemplate"]["size"] == 8
    assert submit(**{**options, "size": 12}).changed
    assert live()["metadata"]["uid"] == uid
    recreated = submit(size=8, sub_group_policy={"size": 2}, on_immutable="recreate")
    assert recreated.changed, recreated.msg
    assert live()["metadata"]["uid"] != uid


def test_replicas_alone_go_through_the_scale_subresource(submit, live, audit_log):
    submit(replicas=1)
    mark = audit_log.mark()
    assert submit(replicas=2).changed
    assert [event["objectRef"].get("subresource") for event in audit_log.writes(mark)] == ["scale"]
    assert live()["spec"]["replicas"] == 2
    mark = audit_log.mark()
    assert submit(replicas=1, size=2).changed
    assert [event["objectRef"].get("subresource") for event in audit_log.writes(mark)] == [None]


def test_an_autoscaler_keeps_its_replicas_unless_it_is_fought_openly(submit, live, kubectl, namespace):
    submit(replicas=1)
    target = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "serve"}
    kubectl.apply(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "by-load", "namespace": namespace},
            "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 3},
        }
    )
    kubectl("scale", LWS, "serve", "--namespace", namespace, "--replicas", "2")
    left_alone = submit(labels={"team": "search"})
    assert left_alone.changed
    assert live()["spec"]["replicas"] == 2
    assert "warnings" not in left_alone
    fought = submit(replicas=3)
    assert fought.changed
    assert "HorizontalPodAutoscaler by-load" in " ".join(fought["warnings"])


def test_the_queue_is_that_of_the_annotation_which_lws_reads(submit, assert_groups, live, kubectl, namespace):
    misplaced = template()
    misplaced["metadata"] = {"annotations": {QUEUE: "elsewhere"}}
    first = submit(worker_template=misplaced, wait_for="running")
    assert not first.failed, first.msg
    assert "no effect" in " ".join(first["warnings"])
    wrong = assert_groups(queue="elsewhere", wait_timeout=0)
    assert wrong.failed
    assert "in queue default, not in elsewhere" in wrong.msg

    kubectl.apply(
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": namespace}, "spec": {}}
    )
    moved = submit(queue=namespace)
    assert live()["metadata"]["annotations"][QUEUE] == namespace
    assert "gangs that exist stay in queue default" in " ".join(moved["warnings"])
    fresh = submit(name="fresh", queue=namespace, wait_for="running")
    assert not fresh.failed, fresh.msg
    groups = kubectl.items(PODGROUPS, "--namespace", namespace)
    assert {group["metadata"]["name"].split("-")[0]: group["spec"]["queue"] for group in groups} == {
        "serve": "default",
        "fresh": namespace,
    }


def test_updated_ends_when_every_group_that_may_has_the_newest_template(submit, assert_groups, pods):
    options = {"replicas": 3, "size": 2}
    assert not submit(**options, wait_for="updated").failed
    before = by_group(pods(), REVISION)

    partitioned = {"rollout": {"partition": 2}, "worker_template": template(image="busybox:1.37")}
    canary = submit(**options, **partitioned, wait_for="updated")
    assert not canary.failed, canary.msg
    now = by_group(pods(), REVISION)
    assert [now[index] == before[index] for index in "012"] == [True, True, False]
    ran = assert_groups(wait_timeout=0)
    assert not ran.failed, ran.msg
    assert (ran["groups"], ran["updated_groups"]) == (3, 1)

    began = time.monotonic()
    held = assert_groups(rollout="complete", wait_timeout=PATIENT)
    assert held.failed
    assert "partition 2 holds the roll-out" in held.msg
    assert time.monotonic() - began < PATIENT / 2, "waiting is of no use"

    whole = {**partitioned, "rollout": {"partition": 0, "max_surge": 1}}
    done = submit(**options, **whole, wait_for="updated", wait_timeout=2 * PATIENT)
    assert not done.failed, done.msg
    final = by_group(pods(), REVISION)
    assert final == dict.fromkeys("012", now["2"]), "one template, and no surplus group"
    assert not assert_groups(rollout="complete", wait_timeout=0).failed


def test_a_roll_out_that_cannot_succeed_is_not_taken_for_one_that_has(submit):
    assert not submit(replicas=2, wait_for="updated").failed
    stuck = submit(replicas=2, worker_template=template(gpus=9), wait_for="updated", wait_timeout=8)
    assert stuck.failed
    assert stuck.changed
    assert "no node has more than 8" in stuck.msg


def test_a_leader_that_cannot_be_created_is_named_with_the_reason(submit, kubectl, namespace):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": namespace}}
    kubectl.apply({**quota, "spec": {"hard": {"pods": "0"}}})
    result = submit(size=2, wait_for="running", wait_timeout=6)
    assert result.failed
    assert "its leader pod serve-0 does not exist" in result.msg
    assert "FailedCreate" in result.msg
    assert "exceeded quota: none" in result.msg


def test_a_controller_that_may_not_make_podgroups_is_named_with_the_rights(submit, kubectl):
    rules = lws.take_rights(kubectl)
    try:
        result = submit(size=2, wait_for="running", wait_timeout=5)
    finally:
        lws.give_rights(kubectl, rules)
    assert result.failed
    assert "it has no PodGroup" in result.msg
    assert "lws-controller-manager) may not create, get, list, watch podgroups.scheduling.volcano.sh" in result.msg


def test_a_namespace_is_looked_through_for_groups_without_pods(submit, run_module, kubectl, namespace):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": namespace}}
    kubectl.apply({**quota, "spec": {"hard": {"pods": "0"}}})
    submit(size=2)
    found = run_module("gang_info", namespace=namespace)
    assert [gang["name"] for gang in found["gangs"]] == ["serve-0"]
