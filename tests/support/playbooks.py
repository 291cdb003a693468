# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs playbooks with the real ansible-core against the installed artefact, and gives back what each task returned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
COLLECTIONS = ROOT / "build" / "collections"
# Another name of this interpreter is enough to make Ansible run a module in a process of its own.
OTHER_INTERPRETER = str(Path(sys.executable).with_name("python3"))


class TaskResult(dict[str, Any]):
    """What a task returned, with how it went: a dict of the result's keys."""

    def __init__(self, line: dict[str, Any]) -> None:
        super().__init__(line["result"])
        self.host: str = line["host"]
        self.task: str = line["task"]
        self.action: str = line["action"]
        self.status: str = line["status"]
        self.seconds: float = line["seconds"]

    @property
    def failed(self) -> bool:
        return self.status in ("failed", "ignored", "unreachable")

    @property
    def changed(self) -> bool:
        return bool(self.get("changed"))

    @property
    def msg(self) -> str:
        return str(self.get("msg", ""))

    @property
    def warnings(self) -> list[str]:
        return list(self.get("warnings", []))


def read_results(path: Path) -> list[TaskResult]:
    """What the callback task_results has kept, in order."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [TaskResult(json.loads(line)) for line in lines]


@dataclass(frozen=True)
class PlaybookRun:
    """A finished ansible-playbook: its exit status, its output for people, and every task result in order."""

    returncode: int
    output: str
    results: list[TaskResult]

    @property
    def changed(self) -> list[TaskResult]:
        return [result for result in self.results if result.changed]

    def checked(self) -> PlaybookRun:
        """This run, unless it failed: then an AssertionError that shows the whole output."""
        assert self.returncode == 0, f"ansible-playbook exited {self.returncode}:\n{self.output}"
        return self

    def task(self, name: str) -> TaskResult:
        """The result of the last task whose name ends so (role tasks carry the role's name in front)."""
        return next(result for result in reversed(self.results) if result.task.endswith(name))


class Ansible:
    """ansible-core as the tests use it. A context manager: the process that runs the playbooks ends with the block.

    Args:
        folder: an empty folder for inventory, playbooks and results.
        environment: added to the process's own; names the cluster (K8S_AUTH_KUBECONFIG) and the lab's programs (PATH).
        inventory: another one than the one host ``lab`` of the group ``clusters``.
    """

    def __init__(self, folder: Path, environment: dict[str, str], inventory: Path | None = None) -> None:
        self._folder = folder
        self._inventory = inventory or folder / "inventory.yml"
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.ansible_playbooks"],
            cwd=ROOT,
            env=_environ(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if inventory is None:
            host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
            self._inventory.write_text(yaml.safe_dump({"clusters": {"hosts": {"lab": host}}}))

    def __enter__(self) -> Ansible:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.communicate()

    def playbook(
        self, playbook: str | Path, *, check: bool = False, diff: bool = True, extra_vars: dict[str, Any] | None = None
    ) -> PlaybookRun:
        """Run a playbook, by path or by FQCN, on the hosts of the inventory."""
        results, output = self._folder / "results.jsonl", self._folder / "output.txt"
        results.unlink(missing_ok=True)
        arguments = ["-i", str(self._inventory), str(playbook), *["--check"] * check, *["--diff"] * diff]
        if extra_vars:
            arguments += ["--extra-vars", json.dumps(extra_vars)]
        run = {"arguments": arguments, "output": str(output), "environment": {"KUBEGANG_TASK_RESULTS": str(results)}}
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps(run) + "\n")
        self._server.stdin.flush()
        returncode = int(self._server.stdout.readline())
        return PlaybookRun(returncode, output.read_text(), read_results(results))

    def play(self, tasks: list[dict[str, Any]], **options: Any) -> PlaybookRun:
        """Run these tasks as a playbook of their own; options are those of ``playbook``."""
        path = self._folder / "play.yml"
        play = {"name": "A test's play", "hosts": "clusters", "gather_facts": False, "tasks": tasks}
        path.write_text(yaml.safe_dump([play], sort_keys=False))
        return self.playbook(path, **options)

    def module(
        self, module: str, params: dict[str, Any], *, check: bool = False, diff: bool = True, own_process: bool = False
    ) -> TaskResult:
        """Run one task; a failed one is a result like any other.

        Args:
            own_process: run the module itself, rather than its operation in the controller's worker.
        """
        fqcn = module if "." in module else f"kubegang.core.{module}"
        interpreter = {"ansible_python_interpreter": OTHER_INTERPRETER}
        task = {"name": module, fqcn: params, "vars": interpreter if own_process else {}}
        run = self.play([task], check=check, diff=diff)
        assert run.results, f"no task ran:\n{run.output}"
        return run.results[-1]


def _environ(environment: dict[str, str]) -> dict[str, str]:
    ours = {
        "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parent / "callback_plugins"),
        "ANSIBLE_CALLBACKS_ENABLED": "task_results",
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_HOME": str(ROOT / "build" / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
    }
    return {**os.environ, **environment, **ours}
