# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pod takes of a node, and which nodes would take it; shortages are tested where they are told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from ansible_collections.kubegang.core.plugins.module_utils._capacity import obstacle, requests

from tests.unit.gangs import cluster


def test_pod_requests_are_containers_and_sidecars_or_the_largest_init_container() -> None:
    def container(cpu: str, **more: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("1"), container("500m"), {"resources": {"limits": {"nvidia.com/gpu": 8}}}],
        "initContainers": [container("250m", restartPolicy="Always"), container("3"), container("2")],
        "overhead": {"cpu": "100m"},
    }
    assert requests(spec) == {"cpu": Decimal("3.1"), "nvidia.com/gpu": Decimal(8)}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"spec": {"unschedulable": True}}, "cordoned"),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "not ready"),
        ({"metadata": {"labels": {"zone": "b"}}}, "without label zone=a"),
        ({"spec": {"taints": [{"key": "drain", "effect": "NoExecute"}]}}, "with taint drain"),
        ({"spec": {"taints": [{"key": "drain", "effect": "PreferNoSchedule"}]}}, ""),
        ({"spec": {"taints": [{"key": "team", "value": "nlp", "effect": "NoSchedule"}]}}, ""),
        ({"spec": {"taints": [{"key": "team", "value": "cv", "effect": "NoSchedule"}]}}, "with taint team"),
    ],
)
def test_node_that_would_not_take_a_pod_says_why(change: dict[str, Any], why: str) -> None:
    node = {"metadata": {"labels": {"zone": "a"}}, "spec": {}, "status": {}, **change}
    spec = {"nodeSelector": {"zone": "a"}, "tolerations": [{"key": "team", "value": "nlp", "effect": "NoSchedule"}]}
    assert obstacle(node, spec) == why


def test_toleration_of_everything_tolerates_the_gpu_taint() -> None:
    gpu_node = next(node for node in cluster()["nodes"] if node["spec"].get("taints"))
    assert obstacle(gpu_node, {}) == "with taint nvidia.com/gpu"
    assert obstacle(gpu_node, {"tolerations": [{"operator": "Exists"}]}) == ""
