# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where everything lies, and how something is made there only once."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.lab.build import cache_folder
from tests.lab.lock import exclusively

RUN = Path("/run/kubegang-gpu-host")


def folder() -> Path:
    return cache_folder() / "gpu-host"


def key(recipe: Any) -> str:
    """A short name for all that decides what is made."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True, default=str).encode()).hexdigest()[:12]


def once(name: str, recipe: Any, make: Callable[[Path], None]) -> Path:
    """The folder that make filled, in this run or an earlier one with the same recipe.

    It is filled beside its place and moved there whole, so that an interrupted making is never taken for a finished one.
    """
    place = folder() / f"{name}-{key(recipe)}"
    with exclusively(folder() / "lock", "making GPU hosts"):
        if not place.exists():
            unfinished = folder() / f".{name}"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            make(unfinished)
            unfinished.rename(place)
    return place
