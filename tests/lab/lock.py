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
    """Holds a lock on file, which the holder may delete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(file, "w", encoding="utf-8") as lock:
            _take(lock.fileno(), doing)
            if _is_still(file, lock.fileno()):
                yield
                return
            # The one before us deleted the file: whoever comes next would lock another one.


def _take(descriptor: int, doing: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"waiting for another command that is {doing} …")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _is_still(file: Path, descriptor: int) -> bool:
    return file.exists() and os.path.samestat(file.stat(), os.fstat(descriptor))
