# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a lab of a given name lives on this machine. Everything that a lab makes is in one of these places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError

LABS = Path("/var/lib/kubegang-lab")
# The name ends up in a network namespace, cgroups and a kubeconfig context.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")


@dataclass(frozen=True)
class Place:
    """The folder, namespace and cgroup of one lab."""

    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise LabError(f"{self.name!r} is no lab name: up to 32 of a-z, 0-9 and -, not at its ends")

    @property
    def folder(self) -> Path:
        return LABS / self.name

    @property
    def record(self) -> Path:
        """Written last: a folder without it is a lab that was never finished."""
        return self.folder / "lab.json"

    @property
    def lock(self) -> Path:
        return LABS / f".{self.name}.lock"

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def log(self, program: str) -> Path:
        return self.logs / f"{program}.log"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def netns(self) -> str:
        return f"kubegang-{self.name}"

    @property
    def netns_file(self) -> Path:
        return Path("/run/netns", self.netns)

    @property
    def cgroup(self) -> str:
        """Relative to the root of each cgroup hierarchy."""
        return f"kubegang-{self.name}"
