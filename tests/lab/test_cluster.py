# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster that a lab is: pods that really run, and simulated ones that do as their annotations say."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab import lab
from tests.lab.images import BUSYBOX_IMAGE
from tests.lab.kubectl import Kubectl
from tests.lab.place import Place

ROOT = Path(__file__).parents[2]
PLACE = Place("selftest")
PREFIX = "lab.kubegang.dev"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Kubectl]:
    """A lab for this file alone."""
    command = [sys.executable, "-m", "tests.lab"]
    subprocess.run([*command, "up", "--name", PLACE.name], cwd=ROOT, check=True)
    yield Kubectl(PLACE)
    subprocess.run([*command, "down", "--name", PLACE.name], cwd=ROOT, check=True)


class Pods:
    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def create(self, name: str, annotations: dict[str, str] | None = None, **spec: object) -> None:
        metadata = {"name": name, "annotations": {f"{PREFIX}/{key}": text for key, text in (annotations or {}).items()}}
        container = {"name": "main", "image": BUSYBOX_IMAGE, "command": ["sh", "-c", "echo hello; sleep 1000"]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}
        self._kubectl("create", "-f", "-", stdin=json.dumps(pod))

    def simulate(self, name: str, **annotations: str) -> None:
        self.create(name, {key.replace("_", "-"): text for key, text in annotations.items()}, nodeName="gpu-0000")

    def status(self, name: str) -> dict:
        return json.loads(self._kubectl("get", "pod", name, "-o", "json"))["status"]

    def wait(self, name: str, is_so: Callable[[dict], bool], timeout: float = 20.0) -> dict:
        deadline = time.monotonic() + timeout
        while not is_so(status := self.status(name)):
            assert time.monotonic() < deadline, status
            time.sleep(0.2)
        return status


@pytest.fixture
def pods(cluster: Kubectl) -> Pods:
    return Pods(cluster)


def _is_ready(status: dict) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", []))


def _container(status: dict) -> dict:
    return status["containerStatuses"][0]


def test_a_pod_really_runs_and_can_be_looked_into(cluster: Kubectl, pods: Pods) -> None:
    pods.create("real", nodeName="node-0")
    pods.wait("real", _is_ready)
    assert cluster("logs", "real") == "hello\n"
    assert "sleep 1000" in cluster("exec", "real", "--", "ps")


def test_a_pod_reaches_the_api_server_at_its_service_address(cluster: Kubectl, pods: Pods) -> None:
    pods.create("client", nodeName="node-0")
    pods.wait("client", _is_ready)
    cluster("exec", "client", "--", "sh", "-c", "nc -w 3 10.96.0.1 443 < /dev/null")


def test_gpu_nodes_offer_gpus_and_tell_their_rack(cluster: Kubectl) -> None:
    node = json.loads(cluster("get", "node", "gpu-0003", "-o", "json"))
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["metadata"]["labels"]["topology.kubegang.dev/rack"] == "rack-0"
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


def test_more_gpu_nodes_can_be_had_and_the_fifth_is_in_another_rack(cluster: Kubectl) -> None:
    lab.ensure_gpu_nodes(PLACE, 5)
    lab.ensure_gpu_nodes(PLACE, 5)
    names = cluster("get", "nodes", "-l", "topology.kubegang.dev/rack=rack-1", "-o", "name").split()
    assert names == ["node/gpu-0004"]


def test_a_simulated_pod_runs_for_ever_when_nothing_is_said(pods: Pods) -> None:
    pods.simulate("silent")
    status = pods.wait("silent", _is_ready)
    assert status["phase"] == "Running"


def test_complete_ends_well_after_the_seconds_given(pods: Pods) -> None:
    pods.simulate("completes", behaviour="complete", after="2")
    started = time.monotonic()
    assert pods.wait("completes", lambda status: status["phase"] != "Pending")["phase"] == "Running"
    status = pods.wait("completes", lambda status: status["phase"] == "Succeeded")
    assert time.monotonic() - started >= 1.5
    assert _container(status)["state"]["terminated"]["exitCode"] == 0


def test_fail_ends_with_the_exit_code_given(pods: Pods) -> None:
    pods.simulate("fails", behaviour="fail", exit_code="137")
    status = pods.wait("fails", lambda status: status["phase"] == "Failed")
    assert _container(status)["state"]["terminated"]["exitCode"] == 137


def test_crash_loop_backs_off_and_starts_again(pods: Pods) -> None:
    pods.simulate("crashes", behaviour="crash-loop", exit_code="3")
    status = pods.wait("crashes", lambda status: "waiting" in _container(status)["state"])
    assert _container(status)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert not _is_ready(status)
    again = pods.wait("crashes", lambda status: _container(status)["restartCount"] > 0)
    assert _container(again)["lastState"]["terminated"]["exitCode"] == 3


def test_never_start_stays_pending_on_its_node_for_the_reason_given(pods: Pods) -> None:
    pods.simulate("stuck", behaviour="never-start", waiting_reason="ImagePullBackOff")
    status = pods.wait("stuck", lambda status: "containerStatuses" in status)
    assert status["phase"] == "Pending"
    assert _container(status)["state"]["waiting"]["reason"] == "ImagePullBackOff"
    assert pods.status("stuck") == status


def test_ready_after_runs_first_and_is_ready_later(pods: Pods) -> None:
    pods.simulate("late", ready_after="2")
    status = pods.wait("late", lambda status: status["phase"] == "Running")
    assert not _is_ready(status)
    pods.wait("late", _is_ready)


def test_a_simulated_pod_with_a_finalizer_stays_until_that_is_gone(cluster: Kubectl, pods: Pods) -> None:
    pods.simulate("held")
    cluster("patch", "pod", "held", "--type=merge", '--patch={"metadata": {"finalizers": ["example.com/hold"]}}')
    cluster("delete", "pod", "held", "--wait=false")
    time.sleep(1)
    assert pods.status("held")["phase"] == "Running"
    cluster("patch", "pod", "held", "--type=merge", '--patch={"metadata": {"finalizers": null}}')
    cluster("wait", "--for=delete", "pod/held", "--timeout=10s")


def test_a_write_is_in_the_audit_log_and_a_lease_is_not(cluster: Kubectl) -> None:
    cluster("create", "configmap", "audited")
    entries = [json.loads(line) for line in Path(lab.require(PLACE)["audit_log"]).read_text().splitlines()]
    written = [entry["objectRef"] for entry in entries if entry["verb"] == "create" and "objectRef" in entry]
    assert any(each.get("name") == "audited" for each in written)
    assert not any(each["resource"] == "leases" for each in written)
