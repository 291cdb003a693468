# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From nothing to a table of proven gangs: python -m demo [option of ansible-playbook for site.yml …]

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
# The table fits into 80 columns.
KINDS = {"LeaderWorkerSet": "LWS"}


def play(playbook: str, environment: dict[str, str], extra_vars: dict[str, Any], *options: str) -> None:
    """Run one playbook before the reader's eyes; the demo ends where it fails."""
    print(f"\n=== {playbook}", flush=True)
    inventory = str(HERE / "inventory.yml")
    command = ["ansible-playbook", "--inventory", inventory, playbook, "--extra-vars", json.dumps(extra_vars), *options]
    done = subprocess.run(command, cwd=HERE, env=os.environ | environment, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        sys.exit(f"demo: {playbook} failed")


def table(report: list[dict[str, Any]]) -> Table:
    columns = ("gang", "kind", "queue", "min", "running", "nodes", "seconds", "verdict")
    result = Table(*columns, box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for gang in report:
        nodes = str(len(gang["nodes"]))
        verdict = f"[{COLOURS[gang['verdict']]}]{gang['verdict']}[/] ({gang['expect']})"
        numbers = str(gang["min_member"]), str(gang["running"]), nodes, f"{gang['seconds']:.1f}"
        result.add_row(gang["name"], KINDS.get(gang["kind"], gang["kind"]), gang["queue"], *numbers, verdict)
    return result


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
    for gang in report:
        if gang["verdict"] != "pass":
            print(f"{gang['name']}: {gang['verdict']}: {gang['reason']}")
    Console().print(table(report))
    return 1 if any(gang["verdict"] == "fail" for gang in report) else 0


if __name__ == "__main__":
    sys.exit(main())
