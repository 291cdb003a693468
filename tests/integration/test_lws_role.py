# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role lws refuses before it touches a cluster, when it restarts the controller, and its three sources.

The tests stand in their order: the sources take turns on the cluster, and the chart has it again at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import cluster as clusters
from tests.support import lws
from tests.support.cluster import AuditLog, Kubectl, LiveCluster
from tests.support.playbooks import Ansible, PlaybookRun

CLIENTS = ("OpenAPI-Generator", "Helm", "kubegang.core")

pytestmark = pytest.mark.usefixtures("volcano")


@pytest.fixture(scope="module")
def role(lab: LiveCluster, ansible: Ansible) -> Callable[..., PlaybookRun]:
    """``role(lws_gang_scheduler="")``: the role alone, or one of its task files, on the lab."""

    def run(*, tasks_from: str = "main", check: bool = False, **extra_vars: Any) -> PlaybookRun:
        included = {"name": "kubegang.core.lws", "tasks_from": tasks_from}
        tasks = [{"name": "lws", "ansible.builtin.include_role": included}]
        return ansible.play(tasks, check=check, extra_vars=clusters.site_vars(lab) | extra_vars)

    return run


@pytest.fixture
def refused(role: Callable[..., PlaybookRun], audit_log: AuditLog) -> Callable[..., str]:
    """Why a run failed, given that it sent no write request."""

    def run(**extra_vars: Any) -> str:
        before = audit_log.mark()
        done = role(**extra_vars)
        assert done.returncode != 0, done.output
        writes = [event for client in CLIENTS for event in audit_log.writes(before, user_agent=client)]
        assert [event["requestURI"] for event in writes if "accessreviews" not in event["requestURI"]] == []
        return done.results[-1].msg

    return run


def generation(kubectl: Kubectl) -> int:
    """The Deployment's generation: each restart is one more."""
    return kubectl.get(*lws.DEPLOYMENT)["metadata"]["generation"]


def configuration(kubectl: Kubectl) -> dict[str, Any]:
    return yaml.safe_load(kubectl.get(*lws.CONFIGMAP)["data"]["controller_manager_config.yaml"])


VARIABLES = [
    ({"lws_version": "v0.9.0"}, ["lws_version", "v0.9.0", "such as 0.9.0"]),
    ({"lws_version": "0.8.0"}, ["lws_chart_ref", "holds version 0.9.0", "lws_version is 0.8.0"]),
    ({"lws_source": "operator"}, ["lws_source", "operator", "helm, manifest, existing"]),
    ({"lws_source": "manifest", "lws_manifest": "/nowhere/manifests.yaml"}, ["/nowhere/manifests.yaml"]),
    (
        {"lws_helm_values": {"gangSchedulingManagement": {"schedulerProvider": "volcano"}}},
        ["lws_helm_values.gangSchedulingManagement", "lws_gang_scheduler"],
    ),
]


@pytest.mark.parametrize(("variables", "words"), VARIABLES)
def test_wrong_variable_is_named_before_the_cluster_is_asked(role, variables, words):
    run = role(**variables)
    assert run.returncode != 0, run.output
    assert [word for word in words if word not in run.results[-1].msg] == []
    assert not [result for result in run.results if result.action.startswith("kubernetes.core.")]


@pytest.mark.parametrize(
    ("version", "scheduler", "known"),
    [("0.9.0", "kueue", "volcano"), ("12.0.0", "kueue", "volcano"), ("0.6.2", "volcano", "none")],
)
def test_gang_scheduler_that_the_version_does_not_know_is_refused(refused, version, scheduler, known):
    message = refused(lws_chart_ref="lws", lws_version=version, lws_gang_scheduler=scheduler)
    assert f"lws_gang_scheduler is {scheduler}, LeaderWorkerSet {version} knows {known}" in message


def test_another_release_is_refused(refused):
    message = refused(lws_release_name="another", lws_namespace="another")
    assert (
        "ValidatingWebhookConfiguration lws-validating-webhook-configuration of Helm release lws-system/lws" in message
    )
    assert "lws_source to existing" in message


def test_rights_that_were_taken_away_are_found_and_given_back(role, kubectl):
    role().checked()  # Whatever earlier tests have left behind is mended first.
    lws.take_rights(kubectl)
    found = role(tasks_from="verify")
    assert found.returncode != 0
    assert f"{lws.ACCOUNT} may not create, get, list, watch podgroups.scheduling.volcano.sh" in found.results[-1].msg
    mended = role().checked()
    assert [result.task.rpartition(" : ")[2] for result in mended.changed] == ["Grant the account what it lacks"]
    assert lws.may_make_groups(kubectl)


def test_gangs_are_turned_off_with_one_restart(role, kubectl):
    before = generation(kubectl)
    role(lws_gang_scheduler="").checked()
    assert generation(kubectl) == before + 1
    assert "gangSchedulingManagement" not in configuration(kubectl)
    assert not lws.marks_pods(kubectl)
    assert not lws.may_make_groups(kubectl)


def test_controller_that_is_older_than_its_configuration_is_restarted_once(role, kubectl):
    wanted = configuration(kubectl) | {"gangSchedulingManagement": {"schedulerProvider": "volcano"}}
    patch = {"data": {"controller_manager_config.yaml": yaml.safe_dump(wanted)}}
    kubectl("patch", *lws.CONFIGMAP, "-p", json.dumps(patch))
    found = role(tasks_from="verify", lws_source="existing")
    assert found.returncode != 0
    before = generation(kubectl)
    role().checked()
    assert generation(kubectl) == before + 1
    assert configuration(kubectl)["gangSchedulingManagement"] == {"schedulerProvider": "volcano"}
    assert lws.marks_pods(kubectl)
    assert lws.may_make_groups(kubectl)


def test_second_run_changes_nothing(role, kubectl):
    before = generation(kubectl)
    assert [result.task for result in role().checked().changed] == []
    assert generation(kubectl) == before


@pytest.fixture(scope="module")
def manifest(lab: LiveCluster, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest as upstream builds it, with the lab's image and less CPU; its Deployment has two replicas."""
    version = lab.facts["versions"]["lws"]
    objects = list(yaml.safe_load_all(kubectl("kustomize", str(lws.sources(version) / "config/default"))))
    for each in objects:
        if each["kind"] == "Deployment":
            [container] = each["spec"]["template"]["spec"]["containers"]
            container |= {"image": f"registry.k8s.io/lws/lws:v{version}", "resources": {"requests": {"cpu": "50m"}}}
    path = tmp_path_factory.mktemp("manifest") / "manifests.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return path


@pytest.fixture(scope="module")
def definition_uid(kubectl: Kubectl) -> str:
    return kubectl.get(*lws.DEFINITION)["metadata"]["uid"]


def clear(kubectl: Kubectl, manifest: Path) -> None:
    """Delete what the manifest holds, the definitions apart."""
    left = [each for each in yaml.safe_load_all(manifest.read_text()) if each["kind"] != "CustomResourceDefinition"]
    kubectl("delete", "--ignore-not-found", "-f", "-", stdin=yaml.safe_dump_all(left))


@pytest.fixture(scope="module")
def chart_again(role: Callable[..., PlaybookRun], kubectl: Kubectl, manifest: Path) -> Iterator[None]:
    """Whatever has taken the place of the chart's controller meanwhile, in the end that one is there again."""
    yield
    clear(kubectl, manifest)
    role().checked()


@pytest.fixture(scope="module")
def somebody_elses(
    chart_again: None, role: Callable[..., PlaybookRun], kubectl: Kubectl, manifest: Path, definition_uid: str
) -> None:
    """In the place of the chart's controller one that a platform has installed by itself."""
    assert definition_uid
    role(lws_state="absent").checked()
    kubectl("apply", "--server-side", "--force-conflicts", "-f", str(manifest))
    kubectl("rollout", "status", *lws.DEPLOYMENT[:2], "deployment/lws-controller-manager", "--timeout=120s")


@pytest.mark.usefixtures("somebody_elses")
def test_controller_of_somebody_else_is_never_doubled(refused, manifest):
    for source in ({}, {"lws_source": "manifest", "lws_manifest": str(manifest)}):
        message = refused(**source)
        assert "another LeaderWorkerSet controller is on this cluster" in message
        assert "lws-system/lws-webhook-service" in message
        assert "lws_source to existing" in message


@pytest.mark.usefixtures("somebody_elses")
def test_controller_of_somebody_else_is_configured_and_verified(role, kubectl):
    before, rest = generation(kubectl), configuration(kubectl)
    role(lws_source="existing").checked()
    assert generation(kubectl) == before + 1
    assert configuration(kubectl) == rest | {"gangSchedulingManagement": {"schedulerProvider": "volcano"}}
    assert lws.marks_pods(kubectl)
    assert lws.may_make_groups(kubectl)


@pytest.mark.usefixtures("somebody_elses")
def test_controller_of_an_operator_is_not_written_to(refused, kubectl):
    kubectl("label", *lws.CONFIGMAP, "olm.owner=lws-operator.v1.0.0")
    message = refused(lws_source="existing", lws_gang_scheduler="")
    kubectl("label", *lws.CONFIGMAP, "olm.owner-")
    assert "operator lws-operator.v1.0.0 keeps Deployment lws-system/lws-controller-manager" in message
    assert "remove gangSchedulingManagement" in message


@pytest.mark.usefixtures("somebody_elses")
def test_removal_gives_back_a_controller_of_somebody_else_as_it_was(role, kubectl):
    role(lws_source="existing", lws_state="absent").checked()
    assert "gangSchedulingManagement" not in configuration(kubectl)
    assert "kubegang.dev" not in json.dumps(kubectl.get(*lws.CONFIGMAP)["metadata"].get("annotations"))
    assert not lws.marks_pods(kubectl)
    assert not lws.may_make_groups(kubectl)


@pytest.fixture(scope="module")
def from_manifest(
    chart_again: None, role: Callable[..., PlaybookRun], kubectl: Kubectl, manifest: Path
) -> Callable[..., PlaybookRun]:
    """The role with the manifest as its source, on a cluster without a controller."""
    clear(kubectl, manifest)
    return lambda **extra_vars: role(lws_source="manifest", lws_manifest=str(manifest), **extra_vars)


def test_manifest_gets_gangs_and_rights(from_manifest, kubectl, namespace):
    from_manifest().checked()
    assert lws.may_make_groups(kubectl)
    kubectl.apply(lws.leader_worker_set(namespace, "serve", "volcano"))
    lws.await_running(kubectl, namespace, "serve")
    [podgroup] = kubectl.items("podgroups.scheduling.volcano.sh", "-n", namespace)
    assert podgroup["spec"]["minMember"] == 2
    kubectl("delete", "-n", namespace, "leaderworkersets.leaderworkerset.x-k8s.io", "serve", "--timeout=60s")


def test_second_run_from_the_manifest_changes_nothing(from_manifest, kubectl):
    before = generation(kubectl)
    assert [result.task for result in from_manifest().checked().changed] == []
    assert generation(kubectl) == before


def test_removal_of_the_manifest_keeps_the_definition(from_manifest, kubectl, definition_uid):
    from_manifest(lws_state="absent").checked()
    left = kubectl.items("deployments,services,configmaps,secrets", "-n", lws.NAMESPACE)
    assert [each["metadata"]["name"] for each in left] == ["kube-root-ca.crt"]
    assert kubectl.get(*lws.DEFINITION)["metadata"]["uid"] == definition_uid
