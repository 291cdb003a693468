# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line to the terminal for each thing that takes time."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    # Standard error, and at once: standard output belongs to what a command answers.
    print(f"lab: {line}", file=sys.stderr, flush=True)
