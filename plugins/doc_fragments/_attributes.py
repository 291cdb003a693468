# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """What users may rely on, the same words for every module."""

    ACTION_GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/kubegang.core.kubegang) in C(module_defaults) to set the connection options once for all modules.
    support: full
    membership:
      - kubegang.core.kubegang
"""

    # What every module that changes objects supports.
    STATE = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and predict what it would change, by the server's own dry run; nothing is stored.
    support: full
  diff_mode:
    description: Returns what it changed, or in check mode would change, before and after.
    support: full
  idempotent:
    description: A second run with the same options changes nothing and sends no write request.
    support: full
  platform:
    description: Target systems that can run the module.
    support: full
    platforms: posix
"""

    # What every module that only reads supports.
    READ = r"""
options: {}
attributes:
  check_mode:
    description: Runs in check mode as it does without.
    support: full
  diff_mode:
    description: Returns what it changed, or in check mode would change, before and after.
    support: N/A
    details: It changes nothing.
  idempotent:
    description: It never changes anything.
    support: full
  platform:
    description: Target systems that can run the module.
    support: full
    platforms: posix
"""
