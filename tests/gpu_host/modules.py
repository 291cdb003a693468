# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds programs of a host from their Go modules."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from tests.lab.build import cache_folder
from tests.lab.progress import say
from tests.lab.toolchain import Go


class Module:
    """A Go module at one version, in the module cache."""

    def __init__(self, path: str, version: str, cgo: bool = False) -> None:
        self._path, self._version = path, version
        self._go = Go(cache_folder(), cgo)
        self.source = Path(json.loads(self._go("mod", "download", "-json", f"{path}@v{version}"))["Dir"])

    def build(self, folder: Path, programs: Sequence[str], flags: Sequence[str]) -> None:
        say(f"building {self._path} {self._version} …")
        started = time.monotonic()
        for program in programs:
            arguments = ["build", *flags, "-o", folder / program, f"{self._path}/cmd/{program}"]
            self._go(*arguments, cwd=self.source, what=f"build {program} {self._version}")
        say(f"built {self._path} {self._version} in {time.monotonic() - started:.0f} s")

    def dependency(self, path: str) -> Path:
        return Path(self._go("list", "-m", "-f", "{{.Dir}}", path, cwd=self.source).strip())
