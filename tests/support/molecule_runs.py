# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the runs of a Molecule scenario did, out of the task results that it has kept."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.playbooks import TaskResult, read_results

# The debug task with which a scenario's playbook says that a run begins, and which.
BEGINNING = "Begin a run"


def kept_results() -> list[TaskResult]:
    return read_results(Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results.jsonl"))


def changes_by_run(host: str) -> list[set[str]]:
    """The names of the tasks that changed something on a host, for each run of the playbook: check, converge, idempotence."""
    runs: list[set[str]] = []
    for result in kept_results():
        if result.host != host:
            continue
        if result.task == BEGINNING:
            # What stands before a check is of a scenario that was broken off.
            runs = [] if result.msg == "check" else runs
            runs.append(set())
        elif runs and result.changed:
            runs[-1].add(result.task)
    return runs
