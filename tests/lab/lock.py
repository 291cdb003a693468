# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One command at a time, also across processes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .progress import say


@contextmanager
def exclusively(file: Path, doing: str) -> Iterator[None]:
    """Holds a lock on file. The holder may delete it."""
    descriptor = _lock(file, doing)
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(file: Path, doing: str) -> int:
    while True:
        descriptor = _open(file)
        _take(descriptor, doing)
        if _is(descriptor, file):
            return descriptor
        # The one before us deleted the file: whoever comes next would lock another one.
        os.close(descriptor)


def _is(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def _open(file: Path) -> int:
    while True:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            pass  # the folder was removed in between


def _take(descriptor: int, doing: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"waiting for another command that is {doing} …")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
