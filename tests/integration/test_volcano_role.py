# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role refuses before it touches a cluster, what it mends, and that it stays on the cluster that it was given."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import cluster as clusters
from tests.support.cluster import Kubectl, LiveCluster
from tests.support.playbooks import Ansible, PlaybookRun

CONFIGMAP = ("-n", "volcano-system", "configmap", "volcano-scheduler-configmap")

pytestmark = pytest.mark.usefixtures("volcano")


@pytest.fixture
def play(lab: LiveCluster, ansible: Ansible) -> Callable[..., PlaybookRun]:
    """``play("site", volcano_version="1.10.0")``: a playbook of the collection on the lab."""

    def run(playbook: str, *, check: bool = False, **extra_vars: Any) -> PlaybookRun:
        return ansible.playbook(
            f"kubegang.core.{playbook}", check=check, extra_vars=clusters.site_vars(lab) | extra_vars
        )

    return run


def refusal(run: PlaybookRun) -> str:
    """Why a run failed, given that it changed nothing before."""
    assert run.returncode != 0, run.output
    assert [result.task for result in run.changed] == []
    return run.results[-1].msg


VARIABLES = [
    ({"volcano_version": "v1.15.1"}, ["volcano_version", "v1.15.1", "such as 1.15.1"]),
    ({"volcano_version": "1.14.4"}, ["volcano_chart_ref", "1.15.1", "volcano_version is 1.14.4"]),
    ({"volcano_state": "gone"}, ["volcano_state", "gone", "present, absent"]),
    ({"volcano_image_pull_policy": "Sometimes"}, ["volcano_image_pull_policy", "Sometimes", "IfNotPresent"]),
    (
        {"volcano_scheduler_actions": ["allocate", "gangpreempt", "preempt"]},
        ["volcano_scheduler_actions", "'gangpreempt' and 'preempt' exclude each other"],
    ),
    (
        {"volcano_scheduler_tiers": [{"plugins": [{"name": "gang"}, {"name": "capacity"}, {"name": "proportion"}]}]},
        ["volcano_scheduler_tiers", "'capacity' and 'proportion' exclude each other"],
    ),
    (
        {"volcano_helm_values": {"custom": {"scheduler_config_override": "actions: allocate"}}},
        ["volcano_helm_values", "scheduler_config_override", "volcano_scheduler_actions"],
    ),
]


@pytest.mark.parametrize(("variables", "words"), VARIABLES)
def test_wrong_variable_is_named_before_the_cluster_is_asked(play, variables, words):
    run = play("site", **variables)
    message = refusal(run)
    assert [word for word in words if word not in message] == []
    assert not [result for result in run.results if result.action.startswith("kubernetes.core.")]


def test_surprising_configuration_is_a_warning(play):
    actions = ["enqueue", "allocate", "backfill", "preempt"]
    warning = (
        play("site", check=True, volcano_scheduler_actions=actions)
        .checked()
        .task("Warn of surprises in the scheduler's configuration")
    )
    assert "'preempt' may never see them" in json.dumps(warning)


def test_kubernetes_that_volcano_does_not_support_is_refused(play):
    older = {"volcano_chart_ref": "volcano", "volcano_version": "1.10.0", "volcano_allow_unsupported_kubernetes": False}
    message = refusal(play("site", **older))
    assert "Volcano 1.10 supports Kubernetes 1.21 to 1.30" in message
    assert "volcano_allow_unsupported_kubernetes" in message


def test_missing_helm_is_named(play):
    message = refusal(play("site", volcano_helm_binary="/nowhere/helm"))
    assert "volcano_helm_binary: /nowhere/helm" in message


def test_second_volcano_is_refused(play):
    message = refusal(play("site", volcano_release_name="another", volcano_namespace="another"))
    assert "Deployment volcano-system/volcano-scheduler" in message
    assert "volcano-admission-service-jobs-validate" in message
    assert "volcano_release_name" in message


@pytest.fixture
def reader(lab: LiveCluster, kubectl: Kubectl, namespace: str, tmp_path: Path) -> Path:
    """A kubeconfig whose user may read everything and write nothing."""
    kubectl("create", "serviceaccount", "-n", namespace, "reader")
    kubectl("create", "clusterrolebinding", namespace, "--clusterrole=view", f"--serviceaccount={namespace}:reader")
    config = yaml.safe_load(lab.kubeconfig.read_text())
    token = kubectl("create", "token", "-n", namespace, "reader").strip()
    for user in config["users"]:
        user["user"] = {"token": token}
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    yield path
    kubectl("delete", "clusterrolebinding", namespace)


def test_missing_rights_are_named(play, reader):
    message = refusal(play("site", kubegang_kubeconfig=str(reader)))
    assert "may not create customresourcedefinitions.apiextensions.k8s.io" in message
    assert "create secrets" in message


@pytest.fixture
def pending_release(kubectl: Kubectl) -> Iterator[None]:
    """A revision of the release that an upgrade began and never ended, as Helm stores it."""
    get = ("secret", "-n", "volcano-system", "-l", "owner=helm,name=volcano,status=deployed")
    [record] = kubectl.items(*get)
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(record["data"]["release"]))))
    release["version"] += 1
    release["info"]["status"] = "pending-upgrade"
    payload = base64.b64encode(gzip.compress(json.dumps(release).encode()))
    name = f"sh.helm.release.v1.volcano.v{release['version']}"
    labels = record["metadata"]["labels"] | {"status": "pending-upgrade", "version": str(release["version"])}
    record["metadata"] = {"name": name, "namespace": "volcano-system", "labels": labels}
    record["data"] = {"release": base64.b64encode(payload).decode()}
    kubectl("create", "-f", "-", stdin=json.dumps(record))
    yield
    kubectl("delete", "secret", "-n", "volcano-system", name)


@pytest.mark.usefixtures("pending_release")
def test_unfinished_helm_run_is_refused(play):
    message = refusal(play("site"))
    assert "volcano-system is pending-upgrade" in message
    assert "helm rollback" in message


def test_configuration_changed_by_hand_is_found_and_mended(play, kubectl):
    stock = kubectl.get(*CONFIGMAP)["data"]["volcano-scheduler.conf"]
    [before] = kubectl.items("pods", "-n", "volcano-system", "-l", "app=volcano-scheduler")
    patch = {"data": {"volcano-scheduler.conf": stock.replace("binpack", "usage")}}
    kubectl("patch", *CONFIGMAP, "-p", json.dumps(patch))
    found = play("validate")
    assert found.returncode != 0
    assert "scheduler's configuration" in found.results[-1].msg
    mended = play("site").checked()
    of_volcano = [result.task.split(" : ") for result in mended.changed]
    assert {task for role, task in of_volcano if role == "kubegang.core.volcano"} == {
        "Hold the scheduler to its configuration",
        "Restart Volcano's scheduler",
    }
    assert kubectl.get(*CONFIGMAP)["data"]["volcano-scheduler.conf"] == stock
    names = [
        pod["metadata"]["name"] for pod in kubectl.items("pods", "-n", "volcano-system", "-l", "app=volcano-scheduler")
    ]
    assert before["metadata"]["name"] not in names


def test_closed_default_queue_is_found(play, kubectl, run_module):
    assert not run_module("volcano_queue", name="default", state="closed").failed
    try:
        found = play("validate", volcano_wait_timeout=3)
        assert found.returncode != 0
        assert "Queue default should be Open; it is Closed" in found.results[-1].msg
    finally:
        assert not run_module("volcano_queue", name="default", state="open").failed


@pytest.fixture
def two_contexts(lab: LiveCluster, tmp_path: Path) -> Path:
    """A kubeconfig whose current context, prod, nobody answers; the lab is the other one."""
    config = yaml.safe_load(lab.kubeconfig.read_text())
    context = config["contexts"][0]
    context["name"] = "lab"
    config["clusters"].append({"name": "prod", "cluster": {"server": "https://127.0.0.1:1"}})
    config["contexts"].append({"name": "prod", "context": {**context["context"], "cluster": "prod"}})
    config["current-context"] = "prod"
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def test_every_module_and_helm_use_the_context_of_the_host(play, two_contexts, monkeypatch):
    monkeypatch.setenv("K8S_AUTH_CONTEXT", "prod")
    run = play("site", kubegang_kubeconfig=str(two_contexts), kubegang_context="lab").checked()
    assert {result.action for result in run.results} >= {
        "kubernetes.core.helm",
        "kubernetes.core.helm_info",
        "kubernetes.core.k8s_info",
        "kubegang.core.volcano_queue",
    }


def test_unknown_context_is_named(play, two_contexts):
    assert "labx" in refusal(play("site", kubegang_kubeconfig=str(two_contexts), kubegang_context="labx"))


def test_default_queue_may_be_closed_on_purpose(play, run_module):
    closed = {"name": "default", "state": "closed"}
    try:
        play("site", volcano_queues=[closed]).checked()
    finally:
        assert not run_module("volcano_queue", name="default", state="open").failed
