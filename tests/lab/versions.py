# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Version sets: which version of each component a lab is made of."""

from __future__ import annotations

import tomllib
from pathlib import Path

from .errors import LabError

FILE = Path(__file__).with_name("versions.toml")


def _table() -> dict:
    return tomllib.loads(FILE.read_text())


def go_version() -> str:
    """The one Go toolchain that builds everything, so that a program does not depend on the machine's Go."""
    return _table()["toolchain"]["go"]


def set_names() -> list[str]:
    return sorted(_table()["sets"])


def version_set(name: str) -> dict[str, str]:
    """Component → version of the set called name."""
    table = _table()
    if name not in table["sets"]:
        raise LabError(
            f"there is no version set {name!r}: one of {', '.join(sorted(table['sets']))} is (see {FILE.name})"
        )
    return {**table["base"], **table["sets"][name]}
