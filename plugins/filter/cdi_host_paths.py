# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: cdi_host_paths
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: List what a CDI specification takes from the host
description:
  - The Container Device Interface describes devices as files of the host that a container gets, namely device nodes, mounts
    and the programs of hooks. A specification that names a path that does not exist keeps containers from starting.
options:
  _input:
    description: Text of the specification.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Look for the files that the specification names
  ansible.builtin.stat:
    path: "{{ item }}"
  loop: "{{ lookup('ansible.builtin.file', '/var/run/cdi/nvidia.yaml') | kubegang.core.cdi_host_paths }}"
"""

RETURN = r"""
_value:
  description: The paths, sorted, each once.
  type: list
  elements: str
"""

import yaml


def cdi_host_paths(text: str) -> list[str]:
    """All paths of the host that the specification names."""
    spec = yaml.safe_load(text) or {}
    edits = [spec.get("containerEdits"), *(device.get("containerEdits") for device in spec.get("devices") or [])]
    return sorted({path for edit in edits if edit for path in _paths(edit)})


def _paths(edit: dict) -> list[str]:
    nodes = [node.get("hostPath") or node["path"] for node in edit.get("deviceNodes") or []]
    # A mount without a source on the host, such as a tmpfs, has a kind instead of a path.
    mounts = [mount["hostPath"] for mount in edit.get("mounts") or []]
    hooks = [hook["path"] for hook in edit.get("hooks") or []]
    return [path for path in nodes + mounts + hooks if path.startswith("/")]


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"cdi_host_paths": cdi_host_paths}
