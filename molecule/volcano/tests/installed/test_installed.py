# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Volcano and a gang as Helm, kubectl (through testinfra) and openshift-client see them."""

from __future__ import annotations

import json
import os

import openshift_client as oc
import pytest
import yaml

KUBECTL = os.environ.get("KUBECTL", "kubectl")
HELM = os.environ.get("HELM", "helm")

testinfra_hosts = ["local://"]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    oc.set_default_oc_path(KUBECTL)
    oc.set_default_kubeconfig_path(os.environ["KUBECONFIG"])


@pytest.fixture(scope="module")
def release(host):
    [found] = json.loads(host.check_output(f"{HELM} list -n volcano-system -o json"))
    return found


def test_release_is_deployed(release):
    assert (release["name"], release["status"]) == ("volcano", "deployed")


@pytest.mark.parametrize("component", ["admission", "controllers", "scheduler"])
def test_component_is_rolled_out(host, component):
    said = host.run(f"{KUBECTL} rollout status -n volcano-system deployment/volcano-{component} --timeout=1s")
    assert said.rc == 0, said.stderr


@pytest.mark.parametrize("component", ["admission", "controllers", "scheduler"])
def test_component_runs_in_the_release_version(release, component):
    with oc.project("volcano-system"):
        deployment = oc.selector(f"deployment/volcano-{component}").object().model
    version = release["chart"].removeprefix("volcano-")
    assert deployment.spec.template.spec.containers[0].image.endswith(f":v{version}")


def test_stock_scheduler_configuration_is_in_place(host):
    get = f"{KUBECTL} get configmap -n volcano-system volcano-scheduler-configmap -o json"
    conf = yaml.safe_load(json.loads(host.check_output(get))["data"]["volcano-scheduler.conf"])
    assert conf["actions"] == "enqueue, allocate, backfill"
    assert [[plugin["name"] for plugin in tier["plugins"]] for tier in conf["tiers"]] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"],
    ]


@pytest.mark.parametrize("queue", ["default", "molecule"])
def test_queue_is_open(queue):
    assert oc.selector(f"queues.scheduling.volcano.sh/{queue}").object().model.status.state == "Open"


def test_queue_has_what_the_role_was_given():
    spec = oc.selector("queues.scheduling.volcano.sh/molecule").object().model.spec
    assert (spec.weight, spec.reclaimable, spec.capability["nvidia.com/gpu"]) == (2, False, "24")


def test_webhook_refuses_a_job_for_a_queue_that_does_not_exist(host, tmp_path):
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "stray", "namespace": "molecule"},
        "spec": {
            "queue": "nowhere",
            "minAvailable": 1,
            "tasks": [{"replicas": 1, "template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}],
        },
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    said = host.run(f"{KUBECTL} create --dry-run=server -f {tmp_path}/job.json")
    assert said.rc != 0
    assert "nowhere" in said.stderr


def test_whole_gang_runs_on_three_nodes():
    with oc.project("molecule"):
        pods = [pod.model for pod in oc.selector("pods", labels={"volcano.sh/job-name": "train"}).objects()]
    assert [pod.status.phase for pod in pods] == ["Running"] * 3
    assert len({pod.spec.nodeName for pod in pods}) == 3
