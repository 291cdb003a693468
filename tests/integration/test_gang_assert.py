# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules gang_assert and gang_info on simulated GPU nodes of 8 GPUs each; kubectl makes the gangs and is the oracle."""

from __future__ import annotations

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.usefixtures("volcano")
JOBS = "jobs.batch.volcano.sh"
QUEUES = "queues.scheduling.volcano.sh"
PODGROUPS = "podgroups.scheduling.volcano.sh"
RACK = "topology.kubegang.dev/rack"
TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
# A gang that is not going to change has done so when it was waited for this long.
SETTLED = 10
PATIENT = 120


def template(gpus=1, image="busybox:1.36", behaviour=None, after=None, given_as=("limits",), **spec):
    annotations = {"behaviour": behaviour, "after": after}
    container = {"name": "main", "image": image, "command": ["sleep", "3600"]}
    if gpus:
        container["resources"] = {field: {"nvidia.com/gpu": gpus} for field in given_as}
    return {
        "metadata": {"annotations": {f"lab.kubegang.dev/{key}": value for key, value in annotations.items() if value}},
        "spec": {"restartPolicy": "Never", "tolerations": TOLERATIONS, "containers": [container], **spec},
    }


def workload(kind, name, namespace, labels, **spec):
    version = {"Job": "batch.volcano.sh/v1alpha1", "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1"}[kind]
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture
def submit(kubectl, namespace):
    """``submit("train", replicas=2, gpus=8)``: a Volcano Job of one task, made by kubectl."""

    def run(name="train", replicas=2, labels=None, scheduler="volcano", queue="default", **options):
        tasks = [{"name": "worker", "replicas": replicas, "template": template(**options)}]
        spec = {"minAvailable": replicas, "schedulerName": scheduler, "queue": queue, "tasks": tasks}
        kubectl.apply(workload("Job", name, namespace, labels, **spec))

    return run


@pytest.fixture
def assert_gang(run_module, namespace):
    """``assert_gang("train", expect="held")``: the module gang_assert on the test's namespace."""

    def run(name=None, **options):
        given = {"namespace": namespace, "wait_timeout": PATIENT, **options}
        return run_module("gang_assert", **({"name": name} if name else {}), **given)

    return run


@pytest.fixture
def gang_info(run_module, namespace):
    def run(**options):
        result = run_module("gang_info", namespace=namespace, **options)
        assert not result.failed, result.msg
        return result["gangs"]

    return run


@pytest.fixture
def meanwhile():
    """``meanwhile(5, kubectl, "delete", …)``: does it so many seconds from now, beside the test."""
    with ThreadPoolExecutor() as pool:

        def later(seconds, action, *arguments):
            def act():
                time.sleep(seconds)
                action(*arguments)

            return pool.submit(act)

        yield later


@pytest.fixture(scope="module")
def lws(lab, volcano):
    """The LeaderWorkerSet controller from its own chart, with gangs by Volcano."""
    gangs = [
        "--set",
        "gangSchedulingManagement.schedulerProvider=volcano",
        "--set",
        "image.manager.pullPolicy=IfNotPresent",
    ]
    where = ["--namespace", "lws-system", "--create-namespace", "--kubeconfig", str(lab.kubeconfig)]
    helm = [str(lab.kubectl.with_name("helm")), "upgrade", "--install", "lws", lab.facts["charts"]["lws"]]
    subprocess.run([*helm, *where, *gangs, "--wait"], check=True, capture_output=True)


@pytest.fixture
def serve(kubectl, namespace, lws):
    """``serve(replicas=2, size=2)``: a LeaderWorkerSet named serve, made by kubectl."""

    def run(replicas=1, size=2, labels=None, **options):
        pods = template(restartPolicy="Always", schedulerName="volcano", **options)
        spec = {"replicas": replicas, "leaderWorkerTemplate": {"size": size, "workerTemplate": pods}}
        manifest = workload("LeaderWorkerSet", "serve", namespace, labels, **spec)
        # The chart's own wait ends before its webhook answers.
        for _attempt in range(30):
            try:
                return kubectl.apply(manifest)
            except AssertionError as error:
                if "webhook" not in str(error):
                    raise
                time.sleep(1)
        raise AssertionError("the webhook of LWS did not answer within 30 s")

    return run


@pytest.fixture
def phases(kubectl, namespace):
    return lambda: sorted(pod["status"]["phase"] for pod in kubectl.items("pods", "--namespace", namespace))


def test_whole_gang_is_proven_running(submit, assert_gang, phases, kubectl, namespace):
    submit(replicas=2, gpus=8)
    result = assert_gang("train", distinct_nodes=True, same_topology=RACK, queue="default", every_task_minimum=True)
    assert not result.failed, result.msg
    assert not result.changed
    assert phases() == ["Running"] * 2
    (gang,) = result["gangs"]
    nodes = {pod["spec"]["nodeName"] for pod in kubectl.items("pods", "--namespace", namespace)}
    assert (gang["running"], gang["needed"], set(gang["nodes"])) == (2, 2, nodes)
    spread = assert_gang("train", same_topology="kubernetes.io/hostname")
    assert "spread over 2 values of kubernetes.io/hostname" in spread.msg
    shared = assert_gang("train", queue="research")
    assert "it is in queue default, not in research" in shared.msg


def test_pods_that_share_a_node_fail_at_once(submit, assert_gang):
    submit(replicas=2, nodeSelector={"kubernetes.io/hostname": "gpu-0000"})
    result = assert_gang("train", distinct_nodes=True)
    assert "2 pods share node gpu-0000 (train-worker-0, train-worker-1)" in result.msg
    assert result.seconds < PATIENT


# Volcano admits a Job by what its templates request, and makes pods of an admitted one only. Limits alone it counts later.
@pytest.mark.parametrize(("given_as", "pods"), [(["limits"], 6), (["limits", "requests"], 0)])
def test_oversized_gang_fails_with_its_shortage_and_binds_no_member(
    submit, assert_gang, kubectl, namespace, given_as, pods
):
    submit("big", replicas=6, gpus=8, given_as=given_as)
    result = assert_gang("big", wait_timeout=SETTLED)
    assert result.failed
    assert f"gang {namespace}/big: 0 of 6 pods bound" in result.msg
    assert "needs 48 nvidia.com/gpu (6 pods, 8 each), " in result.msg
    assert "queue default is Open" in result.msg
    held = assert_gang("big", expect="held", hold_for=5)
    assert not held.failed, held.msg
    assert held["seconds"] >= 5
    found = kubectl.items("pods", "--namespace", namespace)
    assert len(found) == held["gangs"][0]["pods"] == pods
    assert not any(pod["spec"].get("nodeName") for pod in found)


def test_held_fails_as_soon_as_a_pod_is_bound(submit, assert_gang, kubectl, meanwhile, namespace):
    submit(nodeSelector={"test.kubegang.dev/owner": namespace})
    try:
        meanwhile(SETTLED, kubectl, "label", "node", "gpu-0003", f"test.kubegang.dev/owner={namespace}", "--overwrite")
        result = assert_gang("train", expect="held", hold_for=PATIENT)
    finally:
        kubectl("label", "node", "gpu-0003", "test.kubegang.dev/owner-")
    assert "it is not held: " in result.msg
    assert "on gpu-0003" in result.msg
    assert result.seconds < PATIENT


def test_completed_job_is_proven_and_is_not_taken_for_a_running_one(submit, assert_gang, phases):
    submit(behaviour="complete", after="2")
    result = assert_gang("train", expect="completed")
    assert not result.failed, result.msg
    assert phases() == ["Succeeded"] * 2
    assert "it has completed" in assert_gang("train").msg
    assert not assert_gang("train", accept_finished=True).failed


def test_failed_job_ends_the_wait_at_once_and_names_its_pods(submit, assert_gang):
    submit(behaviour="fail", after="1")
    for expect in ("completed", "running", "held"):
        result = assert_gang("train", expect=expect)
        assert "Job is Failed: 0 of its pods succeeded, 2 failed" in result.msg
        assert result.seconds < PATIENT
    assert "train-worker-0, train-worker-1: failed: container main exited with 1" in assert_gang("train").msg


def test_hold_catches_a_pod_that_crashes_again_and_again(submit, assert_gang):
    submit(behaviour="crash-loop", after="3")
    result = assert_gang("train", hold_for=20, wait_timeout=SETTLED)
    assert result.failed
    assert "train-worker-0" in result.msg


def test_image_that_cannot_be_pulled_is_named(submit, assert_gang):
    submit(replicas=1, gpus=0, image="registry.example/none:404", nodeSelector={"kubernetes.io/hostname": "node-0"})
    result = assert_gang("train", wait_timeout=SETTLED)
    assert "train-worker-0: container main: " in result.msg
    assert "ImagePull" in result.msg
    assert "registry.example/none:404" in result.msg


def test_scheduler_that_nobody_runs_ends_the_wait(submit, assert_gang):
    submit(scheduler="volcanoo")
    result = assert_gang("train")
    assert "no scheduler serves schedulerName volcanoo (Volcano serves volcano)" in result.msg
    assert result.seconds < PATIENT
    assert "no scheduler serves schedulerName volcanoo" in assert_gang("train", expect="held").msg


def test_closed_queue_ends_the_wait(submit, assert_gang, run_module, kubectl, namespace):
    assert not run_module("volcano_queue", name=namespace).failed
    try:
        submit("big", replicas=6, gpus=8, queue=namespace)
        assert not assert_gang("big", expect="held").failed
        # Closing is all that it can reach while it holds a gang.
        run_module("volcano_queue", name=namespace, state="closed", wait_timeout=5)
        result = assert_gang("big")
        assert f"queue {namespace} is Clos" in result.msg
        assert result.seconds < PATIENT
    finally:
        kubectl("delete", JOBS, "big", "--namespace", namespace)
        kubectl("wait", f"{QUEUES}/{namespace}", "--for=jsonpath={.status.state}=Closed", "--timeout=60s")
        kubectl("delete", QUEUES, namespace)


def test_job_that_appears_during_the_wait_is_found(submit, assert_gang, meanwhile):
    meanwhile(5, submit)
    assert not assert_gang("train").failed


def test_job_that_is_deleted_during_the_wait_ends_it(submit, assert_gang, kubectl, meanwhile, namespace):
    submit(replicas=6, gpus=8)
    meanwhile(SETTLED, kubectl, "delete", JOBS, "train", "--namespace", namespace)
    result = assert_gang("train")
    assert f"Job {namespace}/train was deleted while it was waited for" in result.msg
    assert result.seconds < PATIENT


def test_nothing_there_is_never_a_success(assert_gang, run_module, namespace):
    assert f"Job {namespace}/never not found" in assert_gang("never", wait_timeout=2).msg
    assert f"no gang in namespace {namespace}" in assert_gang(wait_timeout=2).msg
    missing = run_module("gang_assert", name="train", namespace="nowhere", wait_timeout=PATIENT)
    assert "namespace nowhere does not exist" in missing.msg
    assert missing.seconds < PATIENT


def test_asserting_writes_nothing_and_is_the_same_in_check_mode(submit, assert_gang, run_module, audit_log, namespace):
    submit()
    assert_gang("train")
    mark = audit_log.mark()
    real, check = (run_module("gang_assert", check=mode, name="train", namespace=namespace) for mode in (False, True))
    for gang in (*real["gangs"], *check["gangs"]):
        # Volcano's phases follow the pods a moment later.
        del gang["phase"], gang["workload_phase"]
    assert real["gangs"] == check["gangs"]
    assert not real.changed
    assert not check.changed
    assert audit_log.writes(mark) == audit_log.writes(mark, dry_run=True) == []


def test_each_replica_of_a_leader_worker_set_is_a_gang(serve, assert_gang, gang_info, kubectl, namespace):
    serve(replicas=2, size=2)
    result = assert_gang("serve", kind="LeaderWorkerSet")
    assert not result.failed, result.msg
    assert [(gang["name"], gang["running"]) for gang in result["gangs"]] == [("serve-0", 2), ("serve-1", 2)]
    podgroups = {group["metadata"]["name"] for group in kubectl.items(PODGROUPS, "--namespace", namespace)}
    assert {gang["podgroup"] for gang in result["gangs"]} == podgroups
    one = podgroups.pop()
    assert [gang["podgroup"] for gang in gang_info(kind="PodGroup", name=one)] == [one]
    assert "never completes" in assert_gang("serve", kind="LeaderWorkerSet", expect="completed").msg


def test_oversized_leader_worker_set_is_held_and_explained(serve, assert_gang):
    serve(size=6, gpus=8)
    held = assert_gang("serve", kind="LeaderWorkerSet", expect="held", hold_for=5)
    assert not held.failed, held.msg
    result = assert_gang("serve", kind="LeaderWorkerSet", wait_timeout=0)
    assert "serve-0: 0 of 6 pods bound" in result.msg
    assert "needs 48 nvidia.com/gpu (6 pods, 8 each), " in result.msg


def test_gangs_are_found_by_kind_labels_or_namespace(submit, serve, assert_gang, gang_info):
    submit("a", labels={"team": "nlp"})
    submit("b")
    serve(labels={"team": "nlp"})
    assert not assert_gang().failed
    found = {
        "all": gang_info(),
        "jobs": gang_info(kind="Job"),
        "podgroups": gang_info(kind="PodGroup"),
        "labelled": gang_info(label_selectors=["team=nlp"]),
        "none": gang_info(label_selectors=["team=nlp", "tier=gold"]),
    }
    assert {how: sorted(gang["name"] for gang in gangs) for how, gangs in found.items()} == {
        "all": ["a", "b", "serve-0"],
        "jobs": ["a", "b"],
        "podgroups": ["a", "b", "serve-0"],
        "labelled": ["a", "serve-0"],
        "none": [],
    }


def test_info_tells_each_member_and_its_reason(submit, assert_gang, gang_info, kubectl, namespace):
    submit("big", replicas=6, gpus=8)
    assert_gang("big", expect="held")
    (gang,) = gang_info(name="big")
    pods = {pod["metadata"]["name"]: pod["status"]["phase"] for pod in kubectl.items("pods", "--namespace", namespace)}
    assert {member["pod"]: member["phase"] for member in gang["members"]} == pods
    assert all(member["reason"] for member in gang["members"])
    assert any("needs 48 nvidia.com/gpu" in reason for reason in gang["reasons"])


def test_without_rights_beyond_the_namespace_the_explanation_says_so(submit, kubectl, run_module, namespace):
    submit("big", replicas=6, gpus=8)
    where = ("--namespace", namespace)
    kubectl("create", "serviceaccount", "reader", *where)
    kubectl("create", "role", "reader", "--verb=get,list,watch", f"--resource={JOBS},{PODGROUPS},pods,events", *where)
    kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={namespace}:reader", *where)
    reader = f"system:serviceaccount:{namespace}:reader"
    result = run_module("gang_assert", name="big", namespace=namespace, wait_timeout=SETTLED, impersonate_user=reader)
    assert "big: 0 of 6 pods bound" in result.msg
    assert "could not list nodes" in result.msg
    assert "queue default" in result.msg
