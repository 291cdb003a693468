# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of a lab: starting them, finding them, waiting for them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from .cgroup import Cgroup
from .errors import LabError
from .place import Place


def start(
    place: Place,
    argv: Sequence[str | Path],
    log: Path,
    env: Mapping[str, str] | None = None,
    stdin: BinaryIO | None = None,
) -> subprocess.Popen[bytes]:
    """Starts argv in the lab's cgroup and on a session of its own, so that it outlives this command."""
    with open(log, "ab") as output:
        return subprocess.Popen(
            [str(part) for part in argv],
            stdin=stdin or subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={**os.environ, **(env or {})},
            start_new_session=True,
            preexec_fn=Cgroup(place).join,
        )


def finish(process: subprocess.Popen[bytes], what: str, log: Path) -> None:
    """Waits until the program ends well; the error points at its log."""
    if process.wait():
        raise LabError(f"cannot {what}: {_last_line(log)} (all of it in {log})")


def wait_for(what: str, is_there: Callable[[], bool], timeout: float, log: Path) -> None:
    """Looks every moment until it is there; the error points at the log that tells why it is not."""
    deadline = time.monotonic() + timeout
    while not is_there():
        if time.monotonic() > deadline:
            raise LabError(f"{what} is not there after {timeout:.0f} s: {_last_line(log)} (all of it in {log})")
        time.sleep(0.1)


def running(place: Place) -> dict[str, int]:
    """Program → process id of what runs in the lab's cgroup outside of pods."""
    return {name: pid for pid in Cgroup(place).programs() if (name := _program(pid))}


def memory_mib(place: Place) -> int:
    """What all processes of the lab hold, those in pods among them; a shared page counts once."""
    return sum(map(_proportional_kib, Cgroup(place).processes())) // 1024


def _program(pid: int) -> str:
    """The name that the process was started by; the kernel's own short name is cut after 15 letters."""
    try:
        return Path(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()).name
    except OSError:
        return ""  # it has ended


def _proportional_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return lines[-1].strip()[:300] if lines else "it wrote no log"
