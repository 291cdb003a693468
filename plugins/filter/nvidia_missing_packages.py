# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: nvidia_missing_packages
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Tell which packages are not installed in the wanted version
description:
  - Names are compared as they are; versions up to the distribution's revision, so that V(535.309.01-1~deb12u1) is V(535.309.01).
positional: _input, packages
options:
  _input:
    description: Names of packages.
    type: list
    elements: str
    required: true
  packages:
    description: The packages of the host, as M(ansible.builtin.package_facts) returns them.
    type: dict
    required: true
  version:
    description: The wanted version or branch. Empty means any.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Show what would be installed
  ansible.builtin.debug:
    msg: "{{ ['nvidia-smi', 'libcuda1'] | kubegang.core.nvidia_missing_packages(ansible_facts.packages, version='535') }}"
"""

RETURN = r"""
_value:
  description: Names of those that are absent, or there in another version only.
  type: list
  elements: str
"""

from ansible_collections.kubegang.core.plugins.plugin_utils._gpu_host import is_version, upstream


def nvidia_missing_packages(names: list[str], packages: dict, version: str = "") -> list[str]:
    return [
        name
        for name in names
        if not any(is_version(upstream(each["version"]), version) for each in packages.get(name, ()))
    ]


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"nvidia_missing_packages": nvidia_missing_packages}
