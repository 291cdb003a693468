# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks site and validate on one GPU host and one cluster: the host, then the add-ons, then the proofs, in one run.

The host is no node of the cluster: it has no kubelet, and the GPU nodes of the lab are simulated.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.gpu_host import podman
from tests.support import cluster as clusters
from tests.support.cluster import Kubectl, LiveCluster
from tests.support.playbooks import ROOT, Ansible, PlaybookRun

HOST = "site"
CONTAINER = f"kubegang-{HOST}"
SCENARIO = ROOT / "molecule/gpu_host"
ROLES = ["nvidia_driver", "nvidia_container_toolkit", "volcano", "lws", "nvidia_device_plugin"]
# What each role's verification ends with.
VERDICTS = [
    "kubegang.core.nvidia_driver : Require a driver that works",
    "kubegang.core.nvidia_container_toolkit : Require a toolkit that works",
    "kubegang.core.nvidia_device_plugin : Require that every GPU can be given to pods",
]
QUEUE = "site"
GANG = "train"


@pytest.fixture(scope="module")
def gpu_host() -> Iterator[str]:
    """A machine with two GPUs and a container runtime, and nothing of NVIDIA's."""

    def word(*arguments: str) -> None:
        subprocess.run([sys.executable, "-m", "tests.gpu_host", *arguments], cwd=ROOT, check=True)

    try:
        word("up", HOST)
        yield HOST
    finally:
        word("down", HOST)


def on_host(*command: str) -> str:
    return podman.podman("exec", CONTAINER, *command)


@pytest.fixture(scope="module")
def gang(kubectl: Kubectl, volcano: None) -> Iterator[str]:
    """A gang of two pods with a GPU each, in a queue that gives it one: it waits until the queue has more. Its namespace."""
    namespace = f"site-{uuid.uuid4().hex[:6]}"
    kubectl("create", "namespace", namespace)
    container = {"name": "main", "image": "busybox:1.36", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    pod = {"tolerations": [{"operator": "Exists"}], "containers": [container], "terminationGracePeriodSeconds": 0}
    task = {"name": "worker", "replicas": 2, "template": {"spec": {**pod, "restartPolicy": "Never"}}}
    kind = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": GANG, "namespace": namespace},
    }
    spec = {"schedulerName": "volcano", "queue": QUEUE, "minAvailable": 2, "tasks": [task]}
    kubectl.apply(queue(gpus=1))
    kubectl.apply({**kind, "spec": spec})
    yield namespace
    kubectl("delete", "namespace", namespace)
    kubectl("delete", "queues.scheduling.volcano.sh", QUEUE)


def queue(gpus: int) -> dict[str, Any]:
    spec = {"weight": 1, "capability": {"nvidia.com/gpu": gpus}}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": QUEUE}, "spec": spec}


@pytest.fixture(scope="module")
def inventory(gpu_host: str, gang: str, lab: LiveCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host as the scenario gpu_host has it, beside the lab."""
    hosts = yaml.safe_load((SCENARIO / "inventory.yml").read_text())["gpu_hosts"]
    hosts["hosts"] = {gpu_host: hosts["hosts"]["debian12"]}
    # Podman's user; where it is the wanted one, nothing has to become it.
    hosts["vars"]["ansible_user"] = "root"
    cluster = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        **clusters.site_vars(lab),
        "volcano_queues": [{"name": QUEUE, "weight": 1, "capability": {"nvidia.com/gpu": 2}}],
        "kubegang_gangs": [{"namespace": gang, "name": GANG, "queue": QUEUE, "wait_timeout": 60}],
    }
    path = tmp_path_factory.mktemp("inventory") / "inventory.yml"
    path.write_text(yaml.safe_dump({"gpu_hosts": hosts, "clusters": {"hosts": {"lab": cluster}}}))
    return path


@pytest.fixture(scope="module")
def play(
    inventory: Path, lab: LiveCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., PlaybookRun]]:
    environment = lab.environment | podman.environment()
    with Ansible(tmp_path_factory.mktemp("ansible"), environment, inventory) as ansible:
        yield ansible.playbook


@pytest.fixture(scope="module")
def first_run(play: Callable[..., PlaybookRun]) -> PlaybookRun:
    play(SCENARIO / "prepare.yml").checked()
    return play("kubegang.core.site").checked()


def running(kubectl: Kubectl, namespace: str) -> int:
    pods = kubectl.items("pods", "--namespace", namespace, "--field-selector", "status.phase=Running")
    return len([pod for pod in pods if pod["spec"]["nodeName"].startswith("gpu-")])


def test_one_run_provides_hosts_then_add_ons_and_then_proves_gangs(
    first_run: PlaybookRun, gang: str, kubectl: Kubectl
) -> None:
    tasks = [result.task for result in first_run.results]
    assert [host for host, _ in groupby(result.host for result in first_run.results)] == [HOST, "lab"]
    of_roles = [task.split(" : ")[0] for task in tasks if " : " in task]
    assert [role for role, _ in groupby(of_roles)] == [f"kubegang.core.{role}" for role in ROLES]
    # No gang runs before its queue has what it needs, and the add-ons give it that.
    assert tasks[-1] == "Prove the gangs that this cluster should run"
    assert {result.host for result in first_run.changed} == {HOST, "lab"}
    assert running(kubectl, gang) == 2
    assert on_host("nvidia-smi", "-L").count("GPU ") == 2
    assert "nvidia.com/gpu=all" in on_host("nvidia-ctk", "cdi", "list")
    # Each role is verified by its own run, and by nothing else.
    assert [task for task in tasks if task in VERDICTS] == VERDICTS


def test_second_run_changes_nothing(first_run: PlaybookRun, play: Callable[..., PlaybookRun]) -> None:
    assert [(result.host, result.task) for result in play("kubegang.core.site").checked().changed] == []


def test_validation_passes_and_changes_nothing(first_run: PlaybookRun, play: Callable[..., PlaybookRun]) -> None:
    run = play("kubegang.core.validate").checked()
    assert [(result.host, result.task) for result in run.changed] == []
    assert [result.task for result in run.results if result.task in VERDICTS] == VERDICTS


def test_one_validation_names_faults_of_host_and_cluster(
    first_run: PlaybookRun, play: Callable[..., PlaybookRun], gang: str, kubectl: Kubectl
) -> None:
    on_host("rm", "/dev/nvidia1")
    kubectl("delete", "jobs.batch.volcano.sh", GANG, "--namespace", gang)
    # Nobody waits for a gang that is not there.
    run = play("kubegang.core.validate", extra_vars={"kubegang_gangs": [{"namespace": gang, "name": GANG}]})
    assert run.returncode != 0
    assert run.changed == []
    findings = {result.host: result.msg for result in run.results if result.task == "Require that nothing was found"}
    assert findings.keys() == {HOST, "lab"}
    for words in ("The NVIDIA driver of site has", "The Container Toolkit of site has", "/dev/nvidia1"):
        assert words in findings[HOST]
    assert f"{gang}/{GANG}" in findings["lab"]
