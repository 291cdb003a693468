# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """The one deadline of a task."""

    DOCUMENTATION = r"""
options:
  wait_timeout:
    description:
      - Seconds until the task gives up, from its start. A watch wakes it as soon as something changes.
      - Requests that fail for a passing reason (HTTP 429 and 5xx, a webhook that does not answer yet, a dropped connection)
        are sent again until then. V(0) means one try and one look.
    type: int
    default: 120
"""
