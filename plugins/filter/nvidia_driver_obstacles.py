# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: nvidia_driver_obstacles
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Tell why an NVIDIA driver would not work on a host, before anything of it is installed
description:
  - Secure Boot, the GPUs' architecture and the account are looked at; whether the driver's packages can be had is not.
positional: _input
options:
  _input:
    description: A look at the host, as C(files/look.py) of role P(kubegang.core.nvidia_driver#role) prints it.
    type: dict
    required: true
  modules:
    description: The kernel modules to install, V(open) or V(proprietary).
    type: str
    required: true
  version:
    description: The driver's version or branch. Empty means the newest.
    type: str
    default: ""
  signed:
    description: Whether the modules come signed by the distribution. DKMS signs with a key of the host's own, if at all.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Refuse what would not work
  ansible.builtin.assert:
    that: obstacles | length == 0
    fail_msg: "{{ obstacles | join('; ') }}"
  vars:
    obstacles: "{{ look.stdout | from_json | kubegang.core.nvidia_driver_obstacles(modules='open', version='580') }}"
"""

RETURN = r"""
_value:
  description: One sentence for each reason; empty when there is none.
  type: list
  elements: str
"""

from collections.abc import Iterator

from ansible_collections.kubegang.core.plugins.plugin_utils import _gpu_host as host

# The first branch without proprietary modules, and the last that drives GPUs older than Turing.
FIRST_OPEN_ONLY = 620
LAST_FOR_OLD_GPUS = 580


def nvidia_driver_obstacles(look: dict, modules: str, version: str = "", signed: bool = False) -> list[str]:
    return [*_account(look), *_architecture(look, modules, version), *_secure_boot(look, signed)]


def _account(look: dict) -> Iterator[str]:
    if not look["root"]:
        yield "the role needs root: set become: true"


def _architecture(look: dict, modules: str, version: str) -> Iterator[str]:
    branch = int(version.partition(".")[0] or 0)
    old, new = host.older_than_turing(look), host.open_modules_only(look)
    if modules == "proprietary" and branch >= FIRST_OPEN_ONLY:
        yield f"nvidia_driver_modules is proprietary, and driver {branch} has open ones only; 615 is the last with others"
    if modules == "open" and old:
        yield f"nvidia_driver_modules is open, and GPU {', '.join(old)} is older than Turing: it needs proprietary modules"
    if modules == "proprietary" and new:
        yield f"nvidia_driver_modules is proprietary, and GPU {', '.join(new)} works with open modules only"
    if old and branch > LAST_FOR_OLD_GPUS:
        yield f"nvidia_driver_version is {version}, and GPU {', '.join(old)} is older than Turing: 580 is the last branch for it"


def _secure_boot(look: dict, signed: bool) -> Iterator[str]:
    if look["secure_boot"] and not signed and not look["enrolled_key"]:
        yield (
            "Secure Boot is on, and the kernel would refuse the modules that DKMS builds: enroll DKMS's key "
            "(mokutil --import /var/lib/dkms/mok.pub, then confirm at the console), choose modules that come signed, "
            "or turn Secure Boot off"
        )


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"nvidia_driver_obstacles": nvidia_driver_obstacles}
