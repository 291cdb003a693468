# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: nvidia_newest_version
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Choose the newest of the packages' versions that belong to a driver version or branch
description:
  - Versions are compared by their numbers, so that V(580.126.20) is newer than V(580.95.05).
positional: _input, version
options:
  _input:
    description: Versions of packages, such as V(580.126.20_k6.4.0_150600.21-1.1).
    type: list
    elements: str
    required: true
  version:
    description: The driver's version or branch. Empty means any.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the newest of branch 580
  ansible.builtin.debug:
    msg: "{{ ['580.95.05-1', '580.126.20-1', '590.48.01-1'] | kubegang.core.nvidia_newest_version('580') }}"
"""

RETURN = r"""
_value:
  description: The whole version as it was given; empty when none belongs to the wanted one.
  type: str
"""

import re

from ansible_collections.kubegang.core.plugins.plugin_utils._gpu_host import is_version, upstream


def nvidia_newest_version(versions: list[str], version: str) -> str:
    matching = [each for each in versions if is_version(upstream(each), version)]
    return max(matching, key=lambda each: [int(number) for number in re.findall(r"\d+", each)], default="")


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"nvidia_newest_version": nvidia_newest_version}
