# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-playbook again and again: imported once, forked for each run, so that a run does not cost a second of imports.

Each line of the standard input is a run, as JSON: the arguments, the file that takes the output, and the environment that
only this run has. Its exit status goes to the standard output as a line. The process ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# What a run needs beyond its command line is imported here, before the first fork.
import ansible.executor.playbook_executor
import ansible.executor.task_executor
import ansible.plugins.loader  # noqa: F401
from ansible.cli.playbook import PlaybookCLI


def run(arguments: list[str], output: str, environment: dict[str, str]) -> None:
    """What ``ansible-playbook`` does, in this process, which ends with it."""
    os.environ.update(environment)
    streams = {0: (os.devnull, os.O_RDONLY), 1: (output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)}
    for number, (path, flags) in streams.items():
        os.dup2(os.open(path, flags, 0o644), number)
    os.dup2(1, 2)
    PlaybookCLI.cli_executor(["ansible-playbook", *arguments])


def forked(request: dict[str, Any]) -> int:
    """The exit status of one run."""
    child = os.fork()
    if child == 0:
        run(**request)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    for line in sys.stdin:
        print(forked(json.loads(line)), flush=True)
