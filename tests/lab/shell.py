# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running other programs, with errors that fit on one line."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import LabError


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    what: str | None = None,
) -> str:
    """The program's standard output; a LabError that ends with its last words when it fails."""
    command = [str(part) for part in argv]
    try:
        done = subprocess.run(command, cwd=cwd, env=env, input=stdin, text=True, capture_output=True, check=False)
    except OSError as error:
        raise LabError(f"cannot {what or 'run ' + command[0]}: {error}") from error
    if done.returncode:
        raise LabError(f"cannot {what or 'run ' + ' '.join(command[:3])}: {_last_words(done)}")
    return done.stdout


def succeeds(argv: Sequence[str | Path]) -> bool:
    """Whether the program says yes; its words do not matter, nor whether it exists."""
    try:
        done = subprocess.run([str(part) for part in argv], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return " / ".join(lines[-3:]) or f"exit status {done.returncode}"
