# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of LeaderWorkerSet on a cluster: refused until gangs can start, then a chart of 0.7, 0.8 and 0.9, then removed.

It destroys what other tests stand on, so it has a lab of its own. The stages are fixtures, each built on the one before, and
the tests stand in their order.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import cluster as clusters
from tests.support import lws
from tests.support.cluster import Kubectl, LiveCluster
from tests.support.playbooks import Ansible, PlaybookRun

LAB = "lws-upgrade"
NAMESPACE = "llm"
# What Volcano 1.10's own chart turns on.
STOCK_ADMISSIONS = [
    "/jobs/mutate",
    "/jobs/validate",
    "/podgroups/mutate",
    "/pods/validate",
    "/pods/mutate",
    "/queues/mutate",
    "/queues/validate",
]


class Site:
    """The lab, and the roles on it."""

    def __init__(self, lab: LiveCluster, ansible: Ansible) -> None:
        self.kubectl = Kubectl(lab)
        self._lab, self._ansible = lab, ansible

    def role(self, name: str, version_set: str = "default", check: bool = False, **more: Any) -> PlaybookRun:
        tasks = [{"name": name, "ansible.builtin.include_role": {"name": f"kubegang.core.{name}"}}]
        extra_vars = clusters.site_vars(self._lab, version_set) | more
        return self._ansible.play(tasks, check=check, extra_vars=extra_vars)

    def module(self, name: str, **params: Any) -> None:
        done = self._ansible.module(name, params)
        assert not done.failed, done.msg

    def revisions(self, name: str) -> set[str]:
        """The templates that the pods of a LeaderWorkerSet in namespace default were made from."""
        pods = self.kubectl.items("pods", "-l", f"leaderworkerset.sigs.k8s.io/name={name}")
        return {pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/template-revision-hash"] for pod in pods}

    def helm(self, *words: str) -> None:
        command = [str(Path(self._lab.facts["bin"]) / "helm"), "--kubeconfig", str(self._lab.kubeconfig), *words]
        subprocess.run(command, check=True, capture_output=True, text=True)

    def uids(self) -> dict[str, str]:
        return lws.uids(self.kubectl, NAMESPACE)

    def image(self) -> str:
        deployment = self.kubectl.get(*lws.DEPLOYMENT)
        assert deployment["status"]["updatedReplicas"] == deployment["status"]["replicas"] == 1
        return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    lab = clusters.start_lab(LAB, "default", "older")
    with Ansible(tmp_path_factory.mktemp("upgrade"), lab.environment) as ansible:
        yield Site(lab, ansible)
    clusters.lab_word("down", "--name", LAB)


def test_check_mode_on_an_empty_cluster_announces_and_writes_nothing(site):
    announced = site.role("lws", check=True).checked()
    assert {result.action for result in announced.changed} == {"kubernetes.core.k8s", "kubernetes.core.helm"}
    assert site.kubectl.get("namespace", lws.NAMESPACE) is None
    assert site.kubectl.get(*lws.DEFINITION) is None


def test_missing_volcano_is_named_before_anything_is_touched(site):
    refused = site.role("lws")
    assert refused.returncode != 0
    assert "Volcano missing" in refused.results[-1].msg
    assert "role kubegang.core.volcano" in refused.results[-1].msg
    assert site.kubectl.get("namespace", lws.NAMESPACE) is None


@pytest.fixture(scope="module")
def stock_volcano(site: Site) -> None:
    site.role("volcano", "older", volcano_enabled_admissions=STOCK_ADMISSIONS).checked()


@pytest.mark.usefixtures("stock_volcano")
def test_webhook_that_stops_every_gang_is_named_before_anything_is_touched(site):
    refused = site.role("lws", "older")
    assert refused.returncode != 0
    assert "/pods/validate" in refused.results[-1].msg
    assert "volcano_enabled_admissions" in refused.results[-1].msg
    assert "validatepod.volcano.sh" in refused.results[-1].msg
    assert site.kubectl.get("namespace", lws.NAMESPACE) is None


@pytest.fixture(scope="module")
def chart_0_7(site: Site, stock_volcano: None) -> str:
    """A LeaderWorkerSet under the chart of 0.7, which holds the definition among its templates; the uid of the former."""
    site.kubectl("delete", "validatingwebhookconfiguration", "volcano-admission-service-pods-validate")
    image = ["--set", "image.manager.tag=v0.8.0", "--set", "image.manager.pullPolicy=IfNotPresent"]
    chart = str(lws.sources("0.7.0") / "charts/lws")
    site.helm("install", "lws", chart, "--namespace", lws.NAMESPACE, "--create-namespace", "--wait", *image)
    site.kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    lws.create(site.kubectl, lws.leader_worker_set(NAMESPACE, "old"))
    lws.await_running(site.kubectl, NAMESPACE, "old")
    return site.uids()["LeaderWorkerSet old"]


@pytest.fixture(scope="module")
def gangs_on_0_8(site: Site, chart_0_7: str) -> dict[str, str]:
    """The release brought to 0.8 by the role, and a gang beside the LeaderWorkerSet of old."""
    assert chart_0_7
    site.role("lws", "older").checked()
    lws.create(site.kubectl, lws.leader_worker_set(NAMESPACE, "gang", "volcano"))
    lws.await_running(site.kubectl, NAMESPACE, "gang")
    return site.uids()


def test_definition_that_moves_out_of_the_chart_keeps_every_leader_worker_set(site, chart_0_7, gangs_on_0_8):
    assert gangs_on_0_8["LeaderWorkerSet old"] == chart_0_7
    assert site.image().endswith(":v0.8.0")
    assert [name for name in gangs_on_0_8 if name.startswith("PodGroup gang-0-")]


def test_a_roll_out_is_seen_through_though_0_8_does_not_say_what_it_has_acted_on(site, gangs_on_0_8):
    wanted = lws.leader_worker_set("default", "rolled", "volcano")
    site.module("leader_worker_set", definition=wanted, wait_for="running")
    before = site.revisions("rolled")
    wanted["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["command"] = ["sleep", "1000"]
    site.module("leader_worker_set", definition=wanted, wait_for="updated")
    after = site.revisions("rolled")
    assert (len(before), len(after)) == (1, 1)
    assert before != after
    site.module("leader_worker_set", definition=wanted, state="absent")


@pytest.fixture(scope="module")
def upgraded(site: Site, gangs_on_0_8: dict[str, str]) -> PlaybookRun:
    assert gangs_on_0_8
    return site.role("lws").checked()


def test_upgrade_keeps_groups_podgroups_and_pods(site, gangs_on_0_8, upgraded):
    assert upgraded.changed
    assert site.uids() == gangs_on_0_8


def test_upgrade_brings_the_new_program_and_the_new_definitions(site, upgraded):
    assert site.image().endswith(":v0.9.0")
    assert site.kubectl.get("customresourcedefinition", "disaggregatedsets.disaggregatedset.x-k8s.io")
    [version] = site.kubectl.get(*lws.DEFINITION)["spec"]["versions"]
    assert "RecreateGroupAfterStart" in json.dumps(version["schema"])


def test_webhooks_answer_after_the_upgrade(site, upgraded):
    probe = json.dumps(lws.leader_worker_set(NAMESPACE, "probe"))
    created = json.loads(site.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=probe))
    # Nobody asked for it: the mutating webhook did.
    assert created["spec"]["networkConfig"] == {"subdomainPolicy": "Shared"}
    assert lws.marks_pods(site.kubectl)


def test_removal_refuses_while_there_are_leader_worker_sets(site, upgraded):
    refused = site.role("lws", lws_state="absent")
    assert refused.returncode != 0
    assert f"{NAMESPACE}/gang, {NAMESPACE}/old" in refused.results[-1].msg
    assert "lws_remove_in_use" in refused.results[-1].msg
    assert site.kubectl.get(*lws.DEPLOYMENT)


def test_removal_in_use_keeps_leader_worker_sets_and_pods(site, gangs_on_0_8, upgraded):
    site.role("lws", lws_state="absent", lws_remove_in_use=True).checked()
    left = site.kubectl.items("deployments,services,configmaps,secrets,serviceaccounts", "-n", lws.NAMESPACE)
    assert {each["metadata"]["name"] for each in left} == {"kube-root-ca.crt", "default"}
    assert site.uids() == gangs_on_0_8


def test_removal_takes_definitions_and_namespace_when_told(site, upgraded):
    told = {"lws_remove_in_use": True, "lws_remove_crds": True, "lws_remove_namespace": True}
    site.role("lws", lws_state="absent", **told).checked()
    assert site.kubectl.get(*lws.DEFINITION) is None
    assert site.kubectl.get("namespace", lws.NAMESPACE) is None
