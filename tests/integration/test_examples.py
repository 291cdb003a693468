# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example playbooks, run as their headers say, on simulated GPU nodes. What their engines are told is read from the pods."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.cluster import Kubectl
from tests.support.playbooks import Ansible

GROUPS, NODES, GPUS = 2, 2, 4
LABEL = "leaderworkerset.sigs.k8s.io"
# How each engine learns of its group, and what makes the leader another pod than the workers.
TOLD = {
    "sglang": {
        "--tp=8",
        "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000",
        "--nnodes=$(LWS_GROUP_SIZE)",
        "--node-rank=$(LWS_WORKER_INDEX)",
    },
    "vllm": {
        "--tensor-parallel-size=4",
        "--pipeline-parallel-size=$(LWS_GROUP_SIZE)",
        "--master-addr=$(LWS_LEADER_ADDRESS)",
        "--nnodes=$(LWS_GROUP_SIZE)",
        "--node-rank=$(LWS_WORKER_INDEX)",
    },
}


@pytest.mark.parametrize("engine", TOLD)
def test_example_serves_from_whole_groups_and_goes_again(
    engine: str, volcano: None, ansible: Ansible, kubectl: Kubectl, namespace: str
) -> None:
    playbook = f"kubegang.core.examples.{engine}_inference"
    sizes = {"groups": GROUPS, "nodes": NODES, "gpus": GPUS, "namespace": namespace, "wait_timeout": 120}
    given = {f"{engine}_{option}": value for option, value in {**sizes, "model": "example/model"}.items()}

    ansible.playbook(playbook, extra_vars=given).checked()
    pods = kubectl.items("pods", "-n", namespace)
    assert len(pods) == GROUPS * NODES
    assert {(pod["status"]["phase"], pod["spec"]["schedulerName"]) for pod in pods} == {("Running", "volcano")}
    assert all(gpus(pod) == str(GPUS) for pod in pods)
    podgroups = kubectl.items("podgroups.scheduling.volcano.sh", "-n", namespace)
    assert [group["spec"]["minMember"] for group in podgroups] == [NODES] * GROUPS
    leaders = [pod for pod in pods if pod["metadata"]["labels"][f"{LABEL}/worker-index"] == "0"]
    assert addresses(kubectl, namespace, f"{engine}-leaders", len(leaders)) == {
        pod["status"]["podIP"] for pod in leaders
    }
    for pod in pods:
        assert told(pod) >= TOLD[engine]
        assert any("example/model" in word for word in told(pod))
        assert ("--headless" in told(pod)) is (engine == "vllm" and pod not in leaders)
        assert ("readinessProbe" in pod["spec"]["containers"][0]) is (pod in leaders)

    assert ansible.playbook(playbook, extra_vars=given).checked().changed == []

    ansible.playbook(playbook, extra_vars={**given, f"{engine}_state": "absent"}).checked()
    assert kubectl.items("pods,leaderworkersets.leaderworkerset.x-k8s.io", "-n", namespace) == []
    assert kubectl.get("service", f"{engine}-leaders", "-n", namespace) is None


def told(pod: dict[str, Any]) -> set[str]:
    container = pod["spec"]["containers"][0]
    return {*container["command"], *container.get("args", [])}


def gpus(pod: dict[str, Any]) -> str:
    return pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]


def addresses(kubectl: Kubectl, namespace: str, service: str, count: int) -> set[str]:
    """The ready addresses behind a service, which follow the pods a little later, when there are so many."""
    deadline = time.monotonic() + 30
    while len(found := ready_addresses(kubectl, namespace, service)) < count and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def ready_addresses(kubectl: Kubectl, namespace: str, service: str) -> set[str]:
    slices = kubectl.items("endpointslices", "-n", namespace, "--selector", f"kubernetes.io/service-name={service}")
    endpoints = [endpoint for each in slices for endpoint in each["endpoints"] or []]
    return {address for each in endpoints if each["conditions"]["ready"] for address in each["addresses"]}
