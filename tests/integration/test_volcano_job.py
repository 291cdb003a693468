# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module volcano_job on a cluster where Volcano runs, with simulated GPU nodes of 8 GPUs each."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("volcano")
JOBS = "jobs.batch.volcano.sh"
TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def template(gpus=1, image="busybox:1.36", **annotations):
    container = {"name": "main", "image": image, "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    metadata = {"annotations": {f"lab.kubegang.dev/{key}": value for key, value in annotations.items()}}
    spec = {"restartPolicy": "Never", "tolerations": TOLERATIONS, "containers": [container]}
    return {**({"metadata": metadata} if annotations else {}), "spec": spec}


def tasks(replicas=2, **options):
    return [{"name": "worker", "replicas": replicas, "template": template(**options)}]


@pytest.fixture
def live(kubectl, namespace):
    return lambda name="train": kubectl.get(JOBS, name, "--namespace", namespace)


@pytest.fixture
def pods(kubectl, namespace):
    return lambda: kubectl.items("pods", "--namespace", namespace)


@pytest.fixture
def submit(run_module, namespace):
    """``submit(state=…, tasks=…)``: the Job ``train`` in the test's namespace."""

    def run(check=False, **options):
        return run_module("volcano_job", check=check, **{"name": "train", "namespace": namespace, **options})

    return run


def test_a_second_submission_of_the_same_definition_sends_no_write(submit, live, audit_log, namespace):
    definition = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "annotations": {"year": 2026}},
        "spec": {
            "minAvailable": "2",
            "plugins": {"pytorch": ["--master=worker"]},
            "tasks": [{"name": "worker", "replicas": "2", "template": template(gpus="1")}],
        },
    }
    assert submit(definition=definition).changed
    assert live()["metadata"]["annotations"]["year"] == "2026"
    mark = audit_log.mark()
    again = submit(definition=definition)
    assert not again.failed, again.msg
    assert not again.changed
    assert not audit_log.writes(mark)


def test_waiting_for_running_ends_when_every_pod_runs(submit, pods):
    result = submit(tasks=tasks(4), wait_for="running", wait_timeout=60)
    assert not result.failed, result.msg
    assert [pod["status"]["phase"] for pod in pods()] == ["Running"] * 4


def test_waiting_for_completion_ends_when_the_job_is_completed(submit, live):
    work = tasks(2, behaviour="complete", after="2")
    policies = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    result = submit(tasks=work, policies=policies, wait_for="completed", wait_timeout=60)
    assert not result.failed, result.msg
    assert live()["status"]["state"]["phase"] == "Completed"
    again = submit(tasks=work, policies=policies, wait_for="running", wait_timeout=0)
    assert not again.failed, f"a Job that has completed has run: {again.msg}"
    assert not again.changed


def test_a_gang_that_cannot_run_is_submitted_and_the_message_says_why(submit, live, namespace):
    result = submit(tasks=tasks(3, gpus=9), wait_for="running", wait_timeout=8)
    assert result.failed
    assert result.changed
    for words in (f"gang {namespace}/train", "0 of 3 pods bound", "nvidia.com/gpu", "queue default"):
        assert words in result.msg
    assert live()
    again = submit(tasks=tasks(3, gpus=9), wait_for="running", wait_timeout=0)
    assert again.failed
    assert not again.changed


def test_a_field_that_cannot_change_is_named_and_nothing_is_sent(submit, live, audit_log):
    submit(tasks=tasks(image="busybox:1.36"))
    uid, mark = live()["metadata"]["uid"], audit_log.mark()
    result = submit(tasks=tasks(image="busybox:1.37"))
    assert result.failed
    assert "spec.tasks[worker].template.spec.containers[main].image" in result.msg
    assert live()["metadata"]["uid"] == uid
    assert not audit_log.writes(mark)


def test_recreating_on_demand_gives_a_new_job_and_check_mode_says_so_first(submit, live, pods):
    evicted = [{"event": "PodEvicted", "action": "RestartJob"}]
    submit(tasks=tasks(), policies=evicted, wait_for="running", wait_timeout=60)
    uid = live()["metadata"]["uid"]
    changed = {"tasks": tasks(image="busybox:1.37"), "policies": evicted, "on_immutable": "recreate"}
    assert submit(check=True, **changed).changed
    assert live()["metadata"]["uid"] == uid
    result = submit(**changed, wait_for="running", wait_timeout=60)
    assert not result.failed, result.msg
    new = live()["metadata"]["uid"]
    assert new != uid
    assert [pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods()] == [new, new]
    assert not submit(**changed).changed


def test_scaling_is_an_update_in_place_and_the_gang_stays_whole(submit, live, audit_log):
    submit(tasks=tasks(2))
    mark, uid = audit_log.mark(), live()["metadata"]["uid"]
    assert submit(tasks=tasks(3)).changed
    assert [event["verb"] for event in audit_log.writes(mark)] == ["update"]
    found = live()
    assert found["metadata"]["uid"] == uid
    assert (found["spec"]["minAvailable"], found["spec"]["tasks"][0]["minAvailable"]) == (3, 3)


def test_a_job_is_suspended_and_resumed_once_each(submit, live, pods):
    submit(tasks=tasks(), wait_for="running", wait_timeout=60)
    assert submit(check=True, state="suspended").changed
    assert live()["status"]["state"]["phase"] == "Running"
    assert submit(state="suspended").changed
    assert live()["status"]["state"]["phase"] == "Aborted"
    assert not submit(state="suspended").changed
    assert submit(state="resumed").changed
    assert live()["status"]["state"]["phase"] not in ("Aborted", "Aborting")
    assert not submit(state="resumed").changed
    assert not submit(tasks=tasks(), wait_for="running", wait_timeout=60).changed


def test_a_finished_job_is_not_suspended(submit):
    policies = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    submit(tasks=tasks(1, behaviour="complete", after="1"), policies=policies, wait_for="completed", wait_timeout=60)
    result = submit(state="suspended")
    assert result.failed
    assert "is Completed: it cannot be suspended" in result.msg


@pytest.mark.parametrize("state", ["suspended", "resumed"])
def test_a_job_that_is_not_there_is_neither_suspended_nor_resumed(submit, state):
    result = submit(state=state)
    assert "does not exist" in result.msg


def test_absence_includes_the_pods(submit, live, pods):
    submit(tasks=tasks(), wait_for="running", wait_timeout=60)
    result = submit(state="absent")
    assert result.changed
    assert not result.failed, result.msg
    assert live() is None
    assert pods() == []


def test_pods_that_outlive_their_job_are_named(submit, kubectl, namespace):
    held = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "train-worker-0",
            "namespace": namespace,
            "labels": {"volcano.sh/job-name": "train"},
            "finalizers": ["kubegang.dev/held"],
        },
        "spec": template()["spec"],
    }
    kubectl.apply(held)
    result = submit(state="absent", wait_timeout=1)
    kubectl(
        "patch", "pod", "train-worker-0", "--namespace", namespace, "--type=merge", '-p={"metadata":{"finalizers":[]}}'
    )
    assert result.failed
    assert not result.changed
    assert "train-worker-0" in result.msg


def test_a_closed_queue_takes_no_job(run_module, kubectl, submit, live, namespace):
    run_module("volcano_queue", name=namespace, state="closed")
    result = submit(queue=namespace, tasks=tasks())
    kubectl("delete", "queues.scheduling.volcano.sh", namespace)
    assert result.failed
    assert not result.changed
    assert namespace in result.msg
    assert "Closed" in result.msg
    assert live() is None


@pytest.mark.parametrize("check", [True, False])
def test_a_minimum_beyond_the_replicas_is_refused_the_same_way_in_check_mode(submit, live, check):
    result = submit(check=check, min_available=5, tasks=tasks(2))
    assert result.failed
    assert not result.changed
    assert "minAvailable" in result.msg
    assert live() is None


def test_text_where_a_number_belongs_is_refused_before_any_request(submit, audit_log):
    mark = audit_log.mark()
    broken = {
        "metadata": {"name": "train"},
        "spec": {"tasks": [{"name": "w", "replicas": "four", "template": template()}]},
    }
    result = submit(definition=broken)
    assert "spec.tasks[0].replicas: 'four'" in result.msg
    assert not audit_log.writes(mark)


def test_a_gang_that_waits_for_itself_is_warned_of(submit):
    depends = [*tasks(2), {"name": "master", "replicas": 1, "depends_on": ["worker"], "template": template()}]
    result = submit(check=True, tasks=depends)
    assert any("dependsOn" in warning for warning in result.warnings)


def test_a_definition_and_parts_of_one_exclude_each_other(submit):
    result = submit(definition={"spec": {}}, queue="default")
    assert result.failed
    assert "mutually exclusive" in result.msg


def test_a_namespace_that_does_not_exist_is_named(submit):
    result = submit(namespace="no-such-namespace", tasks=tasks())
    assert 'namespaces "no-such-namespace" not found' in result.msg
