# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs by node and in all: what is there, what can be given away, what is taken, and what is left for a gang."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from ansible_collections.kubegang.core.plugins.module_utils._capacity import Load, shortage
from ansible_collections.kubegang.core.plugins.module_utils._gpus import summary

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"


def node(
    name: str,
    capacity: dict[str, Any] | None = None,
    allocatable: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    has = {"cpu": "16", **(capacity or {})}
    status = {"capacity": has, "allocatable": {**has, **(allocatable or {})}}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": status}


COUNTED = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.product": "NVIDIA-H200"}
# What a device plugin makes of nodes: whole, gone since the kubelet started, and with one GPU that is unhealthy.
NODES = [
    node("gpu-a", {GPU: "8"}, labels=COUNTED),
    node("gpu-b", {GPU: "0"}, labels=COUNTED),
    node("gpu-c", {GPU: "8"}, {GPU: "7"}, labels=COUNTED),
    node("cpu-1"),
]


def seen(
    nodes: list[dict[str, Any]], used: dict[str, int] | None = None, per_pod: int = 1, *wanted: str
) -> dict[str, Any]:
    taken = {name: {GPU: Decimal(count), "cpu": Decimal(1)} for name, count in (used or {}).items()}
    return summary(nodes, taken, wanted, per_pod)


def test_numbers_of_each_node_are_told_and_nodes_without_gpus_are_not() -> None:
    facts = seen(NODES, {"gpu-a": 3, "cpu-1": 0})
    assert {each["name"]: each["resources"][GPU] for each in facts["nodes"]} == {
        "gpu-a": {"capacity": 8, "allocatable": 8, "unhealthy": 0, "requested": 3, "free": 5},
        "gpu-b": {"capacity": 0, "allocatable": 0, "unhealthy": 0, "requested": 0, "free": 0},
        "gpu-c": {"capacity": 8, "allocatable": 7, "unhealthy": 1, "requested": 0, "free": 7},
    }
    assert {(each["product"], each["expected"]) for each in facts["nodes"]} == {("NVIDIA-H200", 8)}
    assert facts["totals"] == {GPU: {"capacity": 16, "allocatable": 15, "unhealthy": 1, "requested": 3, "free": 12}}


def test_a_node_whose_plugin_has_gone_keeps_its_capacity_and_has_nothing_to_give() -> None:
    (told,) = seen([node("gpu-a", {GPU: "2"}, {GPU: "0"})], {"gpu-a": 1})["nodes"]
    assert told["resources"][GPU] == {"capacity": 2, "allocatable": 0, "unhealthy": 2, "requested": 1, "free": 0}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"nvidia.com/gpu.present": "true"}, 1),
        ({"nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": "4"}, 4),
        ({"nvidia.com/gpu.count": "4", "nvidia.com/gpu.replicas": "4"}, 16),
        ({"nvidia.com/gpu.count": "4", "nvidia.com/gpu.replicas": "0"}, 4),
    ],
)
def test_a_node_that_should_have_gpus_is_told_though_it_has_none(labels: dict[str, str], expected: int) -> None:
    (told,) = seen([node("gpu-a", labels=labels)])["nodes"]
    assert (told["expected"], told["resources"]) == (expected, {})


def test_shared_gpus_and_mig_devices_are_gpus_and_other_resources_are_on_demand() -> None:
    mixed = node("gpu-a", {GPU: 0, SHARED: 16, "nvidia.com/mig-1g.10gb": 7, "rdma/hca": 8})
    assert set(seen([mixed])["totals"]) == {GPU, SHARED, "nvidia.com/mig-1g.10gb"}
    assert set(seen([mixed], None, 1, "rdma/hca")["totals"]) == {"rdma/hca"}


@pytest.mark.parametrize(("per_pod", "pods"), [(1, 19), (4, 4), (5, 2), (8, 1), (9, 0)])
def test_the_largest_gang_is_counted_by_whole_pods_on_nodes_that_take_them(per_pod: int, pods: int) -> None:
    nodes = [
        node("gpu-a", {GPU: 8}, taints=[{"key": GPU, "effect": "NoSchedule"}]),
        node("gpu-b", {GPU: 8}),
        node("gpu-c", {GPU: 8}),
        node("gpu-d", {GPU: 8}, unschedulable=True),
    ]
    facts = seen(nodes, {"gpu-b": 1, "gpu-c": 4}, per_pod)
    assert facts["largest_gang"] == {GPU: pods}
    assert [each["obstacle"] for each in facts["nodes"]] == ["", "", "", "cordoned"]


def test_a_shortage_names_what_sharing_has_renamed_the_gpus_to() -> None:
    renamed = node("gpu-a", {GPU: "0", SHARED: "16"})
    load = Load({"containers": []}, {GPU: Decimal(1)}, 1)
    (said,) = shortage(load, [renamed], {})
    assert said == f"needs 1 {GPU} (1 pod, 1 each), no node has more than 0; nodes offer {SHARED}"
