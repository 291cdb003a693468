# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starting long-lived programs that belong to a lab."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .cgroup import Cgroup
from .errors import LabError
from .place import Place


def start(place: Place, argv: Sequence[str | Path], log: str, env: Mapping[str, str] | None = None) -> int:
    """Starts argv in the lab's cgroup, on its own session, and answers its process id. Output goes to the lab's logs."""
    with open(place.logs / f"{log}.log", "ab") as output:
        process = subprocess.Popen(
            [str(part) for part in argv],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={**os.environ, **(env or {})},
            start_new_session=True,
            preexec_fn=Cgroup(place).join,
        )
    return process.pid


def running(place: Place) -> dict[str, int]:
    """Program → process id of what runs in the lab's cgroup outside of pods."""
    return {name: pid for pid in Cgroup(place).programs() if (name := _program(pid))}


def find(place: Place, program: str) -> int | None:
    return running(place).get(program)


def memory_mib(place: Place) -> int:
    """What all processes of the lab hold, pods included; shared pages count in parts."""
    return sum(map(_proportional_kib, Cgroup(place).processes())) // 1024


def _proportional_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _program(pid: int) -> str:
    """The name that the process was started by; its comm is cut after 15 letters."""
    try:
        return Path(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()).name
    except OSError:
        return ""  # it has ended


def wait_for(what: str, true: Callable[[], bool], timeout: float, log: Path) -> None:
    """Looks every moment until it is true; the error points at the log that tells why it is not."""
    deadline = time.monotonic() + timeout
    while not true():
        if time.monotonic() > deadline:
            raise LabError(f"{what} is not there after {timeout:.0f} s: {_last_line(log)} (all of it in {log})")
        time.sleep(0.1)


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return lines[-1].strip()[:300] if lines else "it wrote no log"
