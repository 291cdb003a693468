# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unpack one folder of a wheel: python -m tests.support.unpack WHEEL FOLDER TARGET"""

from __future__ import annotations

import sys
import zipfile


def unpack(wheel: str, folder: str, target: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target, [name for name in archive.namelist() if name.startswith(f"{folder}/")])


if __name__ == "__main__":
    unpack(*sys.argv[1:])
