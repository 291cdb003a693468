# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""The operation behind M(kubegang.core.gpu_info): what GPUs nodes have, what pods request, and what is left for a gang."""

from __future__ import annotations

import re
import typing as t
from decimal import Decimal

from ansible_collections.kubegang.core.plugins.module_utils._capacity import (
    UNFINISHED_AND_BOUND,
    Amounts,
    amounts,
    free,
    obstacle,
    used_by_node,
)
from ansible_collections.kubegang.core.plugins.module_utils._change import Object
from ansible_collections.kubegang.core.plugins.module_utils._cluster import NODE, POD, Cluster
from ansible_collections.kubegang.core.plugins.module_utils._errors import OptionError
from ansible_collections.kubegang.core.plugins.module_utils._gang import dig, natural

# Names under which NVIDIA's device plugin advertises GPUs: whole ones, shared ones (renamed or not), MIG devices.
_GPU = re.compile(r"nvidia\.com/(gpu|gpu\.shared|mig-.+)")
# Labels of GPU feature discovery.
_PRODUCT = "nvidia.com/gpu.product"
_COUNT = "nvidia.com/gpu.count"
_REPLICAS = "nvidia.com/gpu.replicas"
_PRESENT = "nvidia.com/gpu.present"
# A taint that keeps other pods off GPU nodes keeps no gang off: its pods tolerate it.
_TOLERANT: Object = {"tolerations": [{"operator": "Exists"}]}


def gpu_facts(params: dict[str, t.Any], cluster: Cluster) -> dict[str, t.Any]:
    """GPUs by node and in all; the result is that of the task.

    Raises:
        OptionError: a number of GPUs per pod that no pod can have.
    """
    per_pod = params["gpus_per_pod"]
    if per_pod < 1:
        raise OptionError("gpus_per_pod", per_pod, "1 or more")
    wanted = set(params["resource_names"] or ())
    nodes = cluster.list(NODE, labels=",".join(params["label_selectors"] or ()))
    used = used_by_node(cluster.list(POD, fields=UNFINISHED_AND_BOUND)) if nodes else {}
    return {"changed": False, **summary(nodes, used, wanted, per_pod)}


def summary(
    nodes: t.Sequence[Object], used: t.Mapping[str, Amounts], wanted: t.Collection[str], per_pod: int
) -> dict[str, t.Any]:
    """The facts, pure.

    Args:
        nodes: whole nodes.
        used: what the pods on each node request.
        wanted: names of the resources that count as GPUs; every one of NVIDIA's when empty.
        per_pod: GPUs that each pod of a gang would want.
    """
    told = [_node(node, used, wanted) for node in nodes]
    gpu_nodes = sorted(
        (node for node in told if node["resources"] or node["expected"]), key=lambda n: natural(n["name"])
    )
    names = sorted({name for node in gpu_nodes for name in node["resources"]})
    return {
        "nodes": gpu_nodes,
        "totals": {name: _total(gpu_nodes, name) for name in names},
        "largest_gang": {name: _pods_that_fit(gpu_nodes, name, per_pod) for name in names},
    }


def _node(node: Object, used: t.Mapping[str, Amounts], wanted: t.Collection[str]) -> dict[str, t.Any]:
    labels = dig(node, "metadata", "labels", default={})
    capacity, allocatable = (amounts(dig(node, "status", field)) for field in ("capacity", "allocatable"))
    left, taken = free(node, used), used.get(node["metadata"]["name"], {})
    names = {name for name in {*capacity, *allocatable} if (name in wanted if wanted else _GPU.fullmatch(name))}
    return {
        "name": node["metadata"]["name"],
        "product": labels.get(_PRODUCT, ""),
        "expected": _expected(labels),
        "obstacle": obstacle(node, _TOLERANT),
        "resources": {
            name: {
                "capacity": _whole(capacity, name),
                "allocatable": _whole(allocatable, name),
                "unhealthy": max(0, _whole(capacity, name) - _whole(allocatable, name)),
                "requested": _whole(taken, name),
                "free": max(0, _whole(left, name)),
            }
            for name in sorted(names)
        },
    }


def _expected(labels: t.Mapping[str, str]) -> int:
    """How many GPUs the labels promise, shared ones as often as they are shared; 0 where nothing is promised."""
    count = labels.get(_COUNT, "")
    if not count.isdigit():
        return 1 if labels.get(_PRESENT) == "true" else 0
    replicas = labels.get(_REPLICAS, "1")
    return int(count) * (int(replicas) if replicas.isdigit() and replicas != "0" else 1)


def _whole(of: Amounts, name: str) -> int:
    return int(of.get(name, Decimal(0)))


def _total(nodes: t.Sequence[dict[str, t.Any]], name: str) -> dict[str, int]:
    having = [node["resources"][name] for node in nodes if name in node["resources"]]
    fields = ("capacity", "allocatable", "unhealthy", "requested", "free")
    return {field: sum(resource[field] for resource in having) for field in fields}


def _pods_that_fit(nodes: t.Sequence[dict[str, t.Any]], name: str, per_pod: int) -> int:
    """How many pods with so many GPUs each find room at this moment; a pod cannot be spread over nodes."""
    open_nodes = [node["resources"] for node in nodes if not node["obstacle"]]
    return sum(resources[name]["free"] // per_pod for resources in open_nodes if name in resources)
