# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error that the lab shows to people."""

from __future__ import annotations


class LabError(Exception):
    """Something that the reader can act on: printed as one line, without a traceback."""
