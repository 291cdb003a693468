# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: nvidia_driver_state
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Tell who brought a host's NVIDIA driver, which versions it shows, and whether it needs a reboot
description:
  - A reboot is decided from what the kernel shows, never from packages that changed.
positional: _input, modprobe
options:
  _input:
    description: A look at the host, as C(files/look.py) of role P(kubegang.core.nvidia_driver#role) prints it.
    type: dict
    required: true
  modprobe:
    description: What an attempt to load the module returned, if there was one.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Say whether the host has to be rebooted
  ansible.builtin.debug:
    msg: "{{ (look.stdout | from_json | kubegang.core.nvidia_driver_state).reboot_reasons }}"
"""

RETURN = r"""
_value:
  description: The host's driver.
  type: dict
  contains:
    driver_source:
      description: V(kubegang), V(operator), V(dgx), V(runfile), V(host) (its image or its administrator), or V(none).
      type: str
    driver_version:
      description: The version that is loaded; when none is, the installed one.
      type: str
    loaded:
      description: Version of the loaded module, empty when none is.
      type: str
    installed:
      description: Version of the module on disk for the running kernel, empty when there is none.
      type: str
    gpus:
      description: PCI addresses of the GPUs.
      type: list
      elements: str
    switches:
      description: How many NVSwitches the host has.
      type: int
    reboot_reasons:
      description: Why the driver works only after a reboot; empty when it needs none.
      type: list
      elements: str
"""

from ansible_collections.kubegang.core.plugins.plugin_utils import _gpu_host as host


def nvidia_driver_state(look: dict, modprobe: dict | None = None) -> dict:
    loaded = host.loaded_version(look)
    return {
        "driver_source": host.owner(look),
        "driver_version": loaded or look["installed"],
        "loaded": loaded,
        "installed": look["installed"],
        "gpus": [gpu["address"] for gpu in host.gpus(look)],
        "switches": look["switches"],
        "reboot_reasons": host.reboot_reasons(look, modprobe),
    }


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"nvidia_driver_state": nvidia_driver_state}
