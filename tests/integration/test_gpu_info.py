# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module gpu_info on simulated GPU nodes of 8 GPUs each, against kubectl's own count."""

from __future__ import annotations

import time

import pytest

GPU = "nvidia.com/gpu"


@pytest.fixture
def empty_nodes(kubectl):
    """The GPU nodes, once pods of earlier tests that are still leaving have left them."""
    nodes = {
        node["metadata"]["name"]: node for node in kubectl.items("nodes", "--selector", "nvidia.com/gpu.present=true")
    }
    deadline = time.monotonic() + 60
    while any(pod["spec"].get("nodeName") in nodes for pod in kubectl.items("pods", "--all-namespaces")):
        assert time.monotonic() < deadline, "GPU nodes are still in use after 60 s"
        time.sleep(1)
    return nodes


def test_numbers_are_those_that_the_server_has(run_module, kubectl, namespace, empty_nodes):
    name = "gpu-0001"
    container = {"name": "main", "image": "busybox:1.36", "resources": {"limits": {GPU: 5}}}
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "taker", "namespace": namespace},
            "spec": {"nodeName": name, "containers": [container], "tolerations": [{"operator": "Exists"}]},
        }
    )
    for own_process in (False, True):
        found = run_module("gpu_info", gpus_per_pod=4, own_process=own_process)
        assert not found.failed, found.msg
        assert not found.changed
        told = {node["name"]: node["resources"][GPU] for node in found["nodes"]}
        assert told.keys() == empty_nodes.keys()
        for each, node in empty_nodes.items():
            numbers = node["status"]["capacity"][GPU], node["status"]["allocatable"][GPU]
            assert numbers == (str(told[each]["capacity"]), str(told[each]["allocatable"]))
        assert {each: (numbers["requested"], numbers["free"]) for each, numbers in told.items()} == {
            each: (5, 3) if each == name else (0, 8) for each in empty_nodes
        }
        assert found["totals"][GPU]["requested"] == 5
        assert found["largest_gang"][GPU] == 2 * (len(empty_nodes) - 1)


def test_an_impossible_number_is_refused_with_its_option(run_module):
    refused = run_module("gpu_info", gpus_per_pod=0)
    assert refused.failed
    assert "gpus_per_pod" in refused.msg
