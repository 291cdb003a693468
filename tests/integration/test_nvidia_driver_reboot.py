# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver role's reboot on a simulated node: its pods leave first, and it takes pods again even when the reboot fails.

The reboot always fails here: Ansible refuses to reboot the machine that it runs on.
"""

from __future__ import annotations

import threading

import pytest

NODE = "gpu-0002"
REFUSED = "would reboot the control node"


@pytest.fixture
def node(kubectl):
    yield NODE
    kubectl("uncordon", NODE)


@pytest.fixture
def pod(kubectl, namespace):
    """A pod on the node, of a kind that a drain may evict."""
    spec = {
        "nodeName": NODE,
        "containers": [{"name": "main", "image": "busybox:1.36"}],
        "terminationGracePeriodSeconds": 1,
        "tolerations": [{"operator": "Exists"}],
    }
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "one"}},
            "template": {"metadata": {"labels": {"app": "one"}}, "spec": spec},
        },
    }
    kubectl.apply(replica_set)
    kubectl("wait", "--namespace", namespace, "--for=create", "pod", "--selector=app=one", "--timeout=30s")
    kubectl("wait", "--namespace", namespace, "--for=condition=Ready", "pod", "--selector=app=one", "--timeout=60s")
    return kubectl.items("pods", "--namespace", namespace)[0]


def reboot(ansible, lab, name, drain_timeout=60):
    role = {"name": "kubegang.core.nvidia_driver", "tasks_from": "reboot"}
    variables = {
        "nvidia_driver_node_name": name,
        "nvidia_driver_kubeconfig": str(lab.kubeconfig),
        "nvidia_driver_drain_timeout": drain_timeout,
        "__nvidia_driver_state": {"reboot_reasons": ["nouveau is loaded and holds the GPUs"]},
    }
    return ansible.play([{"name": "Reboot", "ansible.builtin.include_role": role, "vars": variables}])


def is_cordoned(kubectl, name):
    return [
        each["spec"].get("unschedulable", False) for each in kubectl.items("nodes") if each["metadata"]["name"] == name
    ]


def test_node_is_drained_before_and_takes_pods_again_after_a_reboot_that_fails(
    ansible, lab, kubectl, namespace, pod, node
):
    run = reboot(ansible, lab, node)
    assert run.returncode != 0
    assert REFUSED in run.task("Reboot the host").msg
    assert run.task("Keep new pods from the node").changed
    assert pod["metadata"]["uid"] not in [
        each["metadata"]["uid"] for each in kubectl.items("pods", "--namespace", namespace)
    ]
    assert run.task("Let pods onto the node again").changed
    assert is_cordoned(kubectl, node) == [False]


def test_node_that_somebody_else_cordoned_stays_cordoned(ansible, lab, kubectl, node):
    kubectl("cordon", node)
    run = reboot(ansible, lab, node)
    assert REFUSED in run.task("Reboot the host").msg
    assert is_cordoned(kubectl, node) == [True]


def test_host_that_is_no_node_is_not_drained(ansible, lab):
    run = reboot(ansible, lab, "elsewhere")
    assert REFUSED in run.task("Reboot the host").msg
    assert run.changed == []


# Pods that do not leave at once


@pytest.fixture
def once_refused(audit_log):
    """``once_refused(429, kubectl, "delete", …)``: does it when the server has refused an eviction with that status."""
    threads = []
    over = threading.Event()
    before = audit_log.mark()

    def refused(status):
        writes = audit_log.writes(before, user_agent="OpenAPI-Generator")
        return any(
            event["objectRef"].get("subresource") == "eviction" and event["responseStatus"]["code"] == status
            for event in writes
        )

    def later(status, action, *arguments):
        def act():
            while not refused(status):
                if over.wait(0.5):
                    return
            action(*arguments)

        threads.append(threading.Thread(target=act))
        threads[-1].start()

    yield later
    over.set()
    for thread in threads:
        thread.join()


def test_drain_waits_for_a_disruption_budget_to_allow_it(ansible, lab, kubectl, namespace, pod, node, once_refused):
    selector = {"matchLabels": pod["metadata"]["labels"]}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"minAvailable": 1, "selector": selector},
    }
    kubectl.apply(budget)
    once_refused(429, kubectl, "delete", "poddisruptionbudget", "one", "--namespace", namespace)
    run = reboot(ansible, lab, node)
    assert run.task("Drain the node")["attempts"] > 1
    assert REFUSED in run.task("Reboot the host").msg


@pytest.fixture
def kept_pod(kubectl, namespace, pod):
    """The pod, and a finalizer of ours that keeps it when it is deleted."""
    target = ("pod", pod["metadata"]["name"], "--namespace", namespace, "--type=merge")
    kubectl("patch", *target, '--patch={"metadata": {"finalizers": ["test.kubegang.dev/keep"]}}')
    yield lambda: kubectl("patch", *target, '--patch={"metadata": {"finalizers": []}}')
    if kubectl.get(*target[:4]):
        kubectl("patch", *target, '--patch={"metadata": {"finalizers": []}}')


def test_drain_waits_for_a_namespace_that_is_being_deleted(
    ansible, lab, kubectl, namespace, kept_pod, node, once_refused
):
    kubectl("delete", "namespace", namespace, "--wait=false")
    once_refused(403, kept_pod)
    run = reboot(ansible, lab, node)
    assert run.task("Drain the node")["attempts"] > 1
    assert REFUSED in run.task("Reboot the host").msg
    assert is_cordoned(kubectl, node) == [False]


@pytest.mark.usefixtures("kept_pod")
def test_node_is_not_rebooted_under_pods_that_have_not_left(ansible, lab, kubectl, node):
    run = reboot(ansible, lab, node, drain_timeout=4)
    assert run.returncode != 0
    assert "still running" in " ".join(run.task("Drain the node").warnings)
    assert [result.task for result in run.results if result.task.endswith("Reboot the host")] == []
    assert is_cordoned(kubectl, node) == [False]
