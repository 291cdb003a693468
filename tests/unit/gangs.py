# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gangs and evidence from what a real server said (fixtures/), for tests of pure functions."""

from __future__ import annotations

from copy import deepcopy
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.kubegang.core.plugins.module_utils._cluster import Row
from ansible_collections.kubegang.core.plugins.module_utils._explain import Evidence, Gatekeepers
from ansible_collections.kubegang.core.plugins.module_utils._gang import Gang, Snapshot, Target, job_gang, lws_gangs

FIXTURES = Path(__file__).parent / "fixtures"


@cache
def _load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text())


def fixture(name: str) -> dict[str, Any]:
    """What the server said of one workload; each call returns a copy that a test may change."""
    return deepcopy(_load(FIXTURES / "gangs" / f"{name}.yaml"))


def gangs_of(said: dict[str, Any]) -> list[Gang]:
    workload, podgroups = said["workload"], said["podgroups"]
    rows = [Row(**row) for row in said["rows"]]
    if workload["kind"] == "Job":
        return [job_gang(workload, podgroups[0] if podgroups else None, rows)]
    return lws_gangs(workload, podgroups, rows)


def snapshot_of(said: dict[str, Any]) -> Snapshot:
    workload = said["workload"]
    target = Target(workload["kind"], workload["metadata"]["namespace"], workload["metadata"]["name"])
    nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for node in cluster()["nodes"]}
    return Snapshot(target, True, gangs_of(said), nodes)


def cluster() -> dict[str, Any]:
    """Nodes, queues, and what was in use on each node."""
    said = deepcopy(_load(FIXTURES / "cluster.yaml"))
    said["used"] = {
        node: {name: Decimal(amount) for name, amount in amounts.items()} for node, amounts in said["used"].items()
    }
    return said


def evidence_of(said: dict[str, Any], **changes: Any) -> Evidence:
    """Everything that the server knew; ``changes`` replace parts of it."""
    around = cluster()
    known = {
        "gatekeepers": Gatekeepers({**around["queues"], "missing": None}, {"volcano"}),
        "pods": {pod["metadata"]["name"]: pod for pod in said["pods"]},
        "nodes": around["nodes"],
        "used": around["used"],
        "events": said["events"],
    }
    return Evidence(**{**known, **changes})
