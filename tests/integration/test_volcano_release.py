# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a release under a running gang: Volcano of the older version set, upgraded to the default one, then removed.

It destroys what other tests stand on, so it has a lab of its own. The stages are fixtures, each built on the one before, and
the tests stand in their order.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import cluster as clusters
from tests.support.cluster import Kubectl, LiveCluster
from tests.support.playbooks import Ansible, PlaybookRun

LAB = "upgrade"
NAMESPACE = "research"
KEPT = {
    "queue": ["queues.scheduling.volcano.sh", "research"],
    "job": ["jobs.batch.volcano.sh", "-n", NAMESPACE, "train"],
}
GANG = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": NAMESPACE},
    "spec": {
        "queue": "research",
        "schedulerName": "volcano",
        "minAvailable": 3,
        "tasks": [
            {
                "name": "worker",
                "replicas": 3,
                "template": {
                    "spec": {
                        "terminationGracePeriodSeconds": 1,
                        "containers": [
                            {
                                "name": "main",
                                "image": "docker.io/library/busybox:1.36",
                                "imagePullPolicy": "IfNotPresent",
                                "command": ["sleep", "infinity"],
                            }
                        ],
                    }
                },
            }
        ],
    },
}
# What charts before 1.9 leave behind: a finished Job that Helm would have to patch, and cannot.
INIT_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "volcano-admission-init", "namespace": "volcano-system"},
    "spec": {"template": {"spec": GANG["spec"]["tasks"][0]["template"]["spec"] | {"restartPolicy": "Never"}}},
}
INIT_JOB["spec"]["template"]["spec"]["containers"] = [
    {"name": "main", "image": "docker.io/library/busybox:1.36", "command": ["true"]}
]


class Site:
    """The lab, and the site playbook on it."""

    def __init__(self, lab: LiveCluster, ansible: Ansible) -> None:
        self.kubectl = Kubectl(lab)
        self._lab, self._ansible = lab, ansible

    def play(self, playbook: str, version_set: str = "default", check: bool = False, **more: Any) -> PlaybookRun:
        queues = [{"name": "research", "weight": 3}]
        extra_vars = clusters.site_vars(self._lab, version_set) | {"volcano_queues": queues} | more
        return self._ansible.playbook(f"kubegang.core.{playbook}", check=check, extra_vars=extra_vars)

    def gang(self) -> dict[str, Any]:
        """What an upgrade may not touch: uids, and how often containers were restarted."""
        pods = self.kubectl.items("pods", "-n", NAMESPACE)
        podgroups = self.kubectl.items("podgroups.scheduling.volcano.sh", "-n", NAMESPACE)
        return {
            **{name: self.kubectl.get(*words)["metadata"]["uid"] for name, words in KEPT.items()},
            "podgroups": [each["metadata"]["uid"] for each in podgroups],
            "pods": {
                pod["metadata"]["uid"]: (pod["status"]["phase"], pod["status"]["containerStatuses"][0]["restartCount"])
                for pod in pods
            },
        }

    def definitions(self) -> dict[str, dict[str, Any]]:
        items = self.kubectl.items("customresourcedefinitions")
        return {each["metadata"]["name"]: each for each in items if each["spec"]["group"].endswith(".volcano.sh")}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    lab = clusters.start_lab(LAB, "older", "default")
    with Ansible(tmp_path_factory.mktemp("upgrade"), lab.environment) as run:
        yield Site(lab, run)
    clusters.lab_word("down", "--name", LAB)


@pytest.fixture(scope="module")
def older(site: Site) -> dict[str, Any]:
    """The older Volcano with a running gang, and a finished init Job in the way of the next version."""
    site.play("site", "older").checked()
    site.kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, INIT_JOB)
    site.kubectl("create", "-f", "-", stdin=json.dumps(GANG))
    site.kubectl(
        "wait", "-n", NAMESPACE, "jobs.batch.volcano.sh/train", "--for=jsonpath={.status.running}=3", "--timeout=120s"
    )
    site.kubectl(
        "wait", "-n", "volcano-system", "job/volcano-admission-init", "--for=condition=Complete", "--timeout=60s"
    )
    return {"gang": site.gang(), "definitions": site.definitions()}


@pytest.fixture(scope="module")
def upgraded(site: Site, older: dict[str, Any]) -> PlaybookRun:
    assert older["gang"]["pods"]
    return site.play("site").checked()


def test_check_mode_announces_the_upgrade_and_touches_nothing(site, older):
    check = site.play("site", check=True).checked()
    assert {result.action for result in check.changed} >= {"kubernetes.core.helm", "kubernetes.core.k8s"}
    assert site.gang() == older["gang"]
    assert site.definitions() == older["definitions"]
    assert site.kubectl.get("job", "-n", "volcano-system", "volcano-admission-init")


def test_upgrade_keeps_queue_job_podgroup_and_pods(site, older, upgraded):
    assert upgraded.changed
    assert site.gang() == older["gang"]


def test_upgrade_updates_definitions_in_place(site, older, upgraded):
    definitions = site.definitions()
    for name, before in older["definitions"].items():
        assert definitions[name]["metadata"]["uid"] == before["metadata"]["uid"], name
    assert "cronjobs.batch.volcano.sh" in definitions.keys() - older["definitions"].keys()
    [version] = definitions["jobs.batch.volcano.sh"]["spec"]["versions"]
    assert "networkTopology" in version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


def test_upgrade_removes_the_init_job_that_is_in_its_way(site, upgraded):
    assert upgraded.task("Remove the finished admission-init Job").changed
    assert site.kubectl.get("job", "-n", "volcano-system", "volcano-admission-init") is None


def test_new_programs_run(site, upgraded):
    for deployment in site.kubectl.items("deployments", "-n", "volcano-system"):
        assert deployment["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":v1.15.1")
        assert deployment["status"]["updatedReplicas"] == deployment["status"]["replicas"] == 1


def test_webhooks_trust_the_new_certificate(site, upgraded):
    authority = site.kubectl.get("secret", "-n", "volcano-system", "volcano-admission-secret")["data"]["ca.crt"]
    assert base64.b64decode(authority).startswith(b"-----BEGIN CERTIFICATE-----")
    bundles = {
        hook["name"]: hook["clientConfig"]["caBundle"]
        for kind in ("mutating", "validating")
        for each in site.kubectl.items(f"{kind}webhookconfigurations")
        for hook in each["webhooks"]
        if hook["name"].endswith(".volcano.sh")
    }
    assert bundles
    assert {name for name, bundle in bundles.items() if bundle != authority} == set()


def test_webhooks_answer_after_the_upgrade(site, upgraded):
    probe = GANG | {"metadata": {"name": "probe", "namespace": NAMESPACE}}
    created = json.loads(site.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(probe)))
    # Nobody asked for it: the mutating webhook did.
    assert created["spec"]["maxRetry"] == 3


def test_second_run_changes_nothing(site, upgraded):
    again = site.play("site").checked()
    assert [result.task for result in again.changed] == []


def test_changed_configuration_starts_a_new_scheduler(site, upgraded):
    pods = ("pods", "-n", "volcano-system", "-l", "app=volcano-scheduler")
    [before] = site.kubectl.items(*pods)
    actions = ["enqueue", "allocate", "backfill", "reclaim"]
    site.play("site", volcano_scheduler_actions=actions).checked()
    names = {pod["metadata"]["name"] for pod in site.kubectl.items(*pods) if "deletionTimestamp" not in pod["metadata"]}
    assert len(names) == 1
    assert before["metadata"]["name"] not in names
    log = site.kubectl("logs", "-n", "volcano-system", names.pop())
    assert "actions=[enqueue allocate backfill reclaim]" in log


def test_removal_refuses_while_a_gang_runs(site, upgraded):
    refused = site.play("remove")
    assert refused.returncode != 0
    assert f"{NAMESPACE}/train-" in refused.results[-1].msg
    assert "volcano_remove_in_use" in refused.results[-1].msg
    assert site.kubectl.items("deployments", "-n", "volcano-system")


def test_removal_in_use_keeps_definitions_jobs_and_pods(site, older, upgraded):
    site.play("remove", volcano_remove_in_use=True).checked()
    left = site.kubectl.items("deployments,services,configmaps,secrets,serviceaccounts", "-n", "volcano-system")
    assert {each["metadata"]["name"] for each in left} == {"kube-root-ca.crt", "default"}
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles,clusterrolebindings"
    assert site.kubectl.items(kinds, "-l", "app.kubernetes.io/managed-by=Helm") == []
    assert site.gang() == older["gang"]


def test_second_removal_changes_nothing(site, upgraded):
    again = site.play("remove", volcano_remove_in_use=True).checked()
    assert [result.task for result in again.changed] == []


def test_removal_takes_definitions_and_namespace_when_told(site, upgraded):
    told = {"volcano_remove_in_use": True, "volcano_remove_crds": True, "volcano_remove_namespace": True}
    site.play("remove", **told).checked()
    assert site.definitions() == {}
    assert site.kubectl.get("namespace", "volcano-system") is None
