# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as this machine and as kubectl see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

LAB = Path("/var/lib/kubegang-lab/molecule")
KUBECTL = f"{LAB}/bin/kubectl --kubeconfig {LAB}/kubeconfig"

testinfra_hosts = ["local://"]


@pytest.fixture(scope="module")
def nodes(host):
    items = json.loads(host.check_output(f"{KUBECTL} get nodes -o json"))["items"]
    return {node["metadata"]["name"]: node for node in items}


def test_every_node_is_ready(nodes):
    assert sorted(nodes) == ["gpu-0000", "gpu-0001", "gpu-0002", "gpu-0003", "node-0"]
    for name, node in nodes.items():
        conditions = {each["type"]: each["status"] for each in node["status"]["conditions"]}
        assert conditions["Ready"] == "True", name


def test_gpu_nodes_advertise_gpus_and_keep_other_pods_away(nodes):
    for name, node in nodes.items():
        gpus = node["status"]["allocatable"].get("nvidia.com/gpu")
        taints = [(taint["key"], taint["effect"]) for taint in node["spec"].get("taints", [])]
        assert (gpus, taints) == (
            ("8", [("nvidia.com/gpu", "NoSchedule")]) if name.startswith("gpu-") else (None, [])
        ), name


def test_kubeconfig_is_for_its_owner_only(host):
    kubeconfig = host.file(f"{LAB}/kubeconfig")
    assert (kubeconfig.user, kubeconfig.mode) == ("root", 0o600)


@pytest.mark.parametrize("program", ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"])
def test_program_runs(host, program):
    pid = json.loads(host.file(f"{LAB}/lab.json").content_string)["pids"][program]
    assert host.process.get(pid=pid).comm == program[:15]


def test_lab_lives_in_a_network_namespace_of_its_own(host):
    assert "kubegang-molecule" in host.check_output("ip netns list")
