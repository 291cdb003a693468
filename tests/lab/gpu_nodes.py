# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated GPU nodes: Node objects that advertise nvidia.com/gpu and whose pods kwok reports on."""

from __future__ import annotations

import json

from .control_plane import SIMULATED_NODE
from .kubectl import Kubectl

_NODES_PER_RACK = 4
_PRODUCT = "NVIDIA-H100-80GB-HBM3"


def create(kubectl: Kubectl, first: int, count: int, gpus: int) -> None:
    """Nodes gpu-<first> and so on, as many as count."""
    if count:
        nodes = [_node(index, gpus) for index in range(first, first + count)]
        manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes})
        kubectl("create", "-f", "-", stdin=manifest, what="create the GPU nodes")


def names(kubectl: Kubectl) -> list[str]:
    return kubectl("get", "nodes", "-l", "nvidia.com/gpu.present=true", "-o", "name").split()


def _node(index: int, gpus: int) -> dict:
    name = f"gpu-{index:04d}"
    resources = {"cpu": "128", "memory": "2Ti", "ephemeral-storage": "4Ti", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": dict([SIMULATED_NODE]),
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "nvidia.com/gpu.count": str(gpus),
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": _PRODUCT,
                "topology.kubegang.dev/rack": f"rack-{index // _NODES_PER_RACK}",
            },
        },
        # From birth: an add-on's pod that lands here "runs" in kwok only, and answers nobody.
        "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
        "status": {"capacity": resources, "allocatable": resources},
    }
