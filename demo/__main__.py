# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From nothing to proven gangs and the GPUs that they hold: python -m demo [option of ansible-playbook for site.yml …]

Starts the lab (or, with LAB=none, takes the cluster of KUBECONFIG), provisions it with the collection's site playbook,
plays gangs of both kinds, and prints what became of them. build/demo/report.json holds the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tests.support import cluster as clusters
from tests.support.playbooks import ROOT

HERE = Path(__file__).parent
REPORT = ROOT / "build" / "demo" / "report.json"
COLOURS = {"pass": "green", "fail": "red", "skipped": "yellow"}
# The tables fit into 80 columns.
KINDS = {"LeaderWorkerSet": "LWS"}
NUMBERS = ("capacity", "allocatable", "requested", "free")


def play(playbook: str, environment: dict[str, str], extra_vars: dict[str, Any], *options: str) -> None:
    """Run one playbook before the reader's eyes; the demo ends where it fails."""
    print(f"\n=== {playbook}", flush=True)
    inventory = str(HERE / "inventory.yml")
    command = ["ansible-playbook", "--inventory", inventory, playbook, "--extra-vars", json.dumps(extra_vars), *options]
    done = subprocess.run(command, cwd=HERE, env=os.environ | environment, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        sys.exit(f"demo: {playbook} failed")


def gang_table(gangs: list[dict[str, Any]]) -> Table:
    columns = ("gang", "kind", "queue", "min", "running", "nodes", "seconds", "verdict")
    result = Table(*columns, box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for gang in gangs:
        nodes = str(len(gang["nodes"]))
        verdict = f"[{COLOURS[gang['verdict']]}]{gang['verdict']}[/] ({gang['expect']})"
        numbers = str(gang["min_member"]), str(gang["running"]), nodes, f"{gang['seconds']:.1f}"
        result.add_row(gang["name"], KINDS.get(gang["kind"], gang["kind"]), gang["queue"], *numbers, verdict)
    return result


def gpu_table(gpus: dict[str, Any]) -> Table:
    result = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for column in ("node", "resource"):
        result.add_column(column, overflow="fold")
    for column in NUMBERS:
        result.add_column(column, justify="right")
    for node in gpus["nodes"]:
        for resource, numbers in node["resources"].items():
            result.add_row(node["name"], resource, *(str(numbers[column]) for column in NUMBERS))
    result.add_section()
    for resource, numbers in gpus["totals"].items():
        result.add_row("all nodes", resource, *(str(numbers[column]) for column in NUMBERS))
    return result


def largest_gangs(gpus: dict[str, Any]) -> list[str]:
    return [
        f"Largest gang that fits now: {pods} pods with {gpus['gpus_per_pod']} {resource} each"
        for resource, pods in gpus["largest_gang"].items()
    ]


def main() -> int:
    try:
        cluster = clusters.start()
    except RuntimeError as error:
        sys.exit(f"demo: {error}")
    except subprocess.CalledProcessError as failure:
        return failure.returncode  # The lab has said why.
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    # A report that lies there after a failure would be that of an earlier run.
    REPORT.unlink(missing_ok=True)
    play("kubegang.core.site", cluster.environment, clusters.site_vars(cluster), *sys.argv[1:])
    play("gangs.yml", cluster.environment, {"demo_report": str(REPORT)})
    report = json.loads(REPORT.read_text())
    gangs, gpus = report["gangs"], report["gpus"]
    for gang in gangs:
        if gang["verdict"] != "pass":
            print(f"{gang['name']}: {gang['verdict']}: {gang['reason']}")
    Console().print(gang_table(gangs))
    if gpus["totals"]:
        Console().print(gpu_table(gpus))
    print("\n".join(largest_gangs(gpus)) or "No node of this cluster has GPUs.")
    return 1 if any(gang["verdict"] == "fail" for gang in gangs) else 0


if __name__ == "__main__":
    sys.exit(main())
