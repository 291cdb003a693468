# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab's cgroup: which processes are the lab's, for certain.

Every process of a lab is started in its cgroup, and what it starts inherits that; the kubelet puts the pods beneath. So
stopping a lab means ending what is in there: no process id is remembered for it, and none that was used again can be
hit.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from .errors import LabError
from .place import Place

_ROOT = Path("/sys/fs/cgroup")


class Cgroup:
    def __init__(self, place: Place) -> None:
        self.name = place.cgroup

    def create(self) -> None:
        """In every hierarchy, because the kubelet wants its root to exist in all of them."""
        if _unified():
            _enable_controllers()
        for hierarchy in _hierarchies():
            (hierarchy / self.name).mkdir(exist_ok=True)
        self._own.mkdir(exist_ok=True)

    def join(self) -> None:
        """Moves the calling process in; for the moment between fork and exec."""
        (self._own / "cgroup.procs").write_text(str(os.getpid()))

    def processes(self) -> set[int]:
        """All of the lab's, those in pods among them."""
        return {int(pid) for file in self._membership.glob("**/cgroup.procs") for pid in _read(file).split()}

    def programs(self) -> set[int]:
        """The lab's own, without those in pods."""
        return {int(pid) for pid in _read(self._own / "cgroup.procs").split()}

    def kill(self, timeout: float = 20.0) -> None:
        """Ends every process, and those that they start meanwhile."""
        deadline = time.monotonic() + timeout
        while alive := self.processes():
            for pid in alive:
                _kill(pid)
            if time.monotonic() > deadline:
                raise LabError(f"processes {sorted(alive)} of {self.name} do not end")
            time.sleep(0.05)

    def remove(self) -> None:
        for hierarchy in _hierarchies():
            top = hierarchy / self.name
            # Deepest first; only folders can be removed, and only once the kernel has let go of the last process.
            for folder in sorted((path for path in top.glob("**/") if path.is_dir()), reverse=True):
                _rmdir(folder)

    @property
    def _membership(self) -> Path:
        return _membership_hierarchy() / self.name

    @property
    def _own(self) -> Path:
        # Beside the kubelet's kubepods: cgroup v2 allows processes in leaves only.
        return self._membership / "lab"


def _unified() -> bool:
    return (_ROOT / "cgroup.controllers").exists()


def _enable_controllers() -> None:
    """The kubelet wants every controller of the machine in its root, too."""
    controllers = (_ROOT / "cgroup.controllers").read_text().split()
    (_ROOT / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in controllers))


def _membership_hierarchy() -> Path:
    """The hierarchy whose membership counts. Of version 1 it is pids, which exists wherever containers run."""
    return _ROOT if _unified() else _ROOT / "pids"


def _hierarchies() -> list[Path]:
    if _unified():
        return [_ROOT]
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    return [Path(mount[1]) for mount in mounts if mount[2] == "cgroup"]


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""  # the cgroup went away in the meantime


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _rmdir(folder: Path, timeout: float = 5.0) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise LabError(f"cannot remove the cgroup {folder}: {error.strerror}") from error
            time.sleep(0.05)
