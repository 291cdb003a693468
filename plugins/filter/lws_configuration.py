# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: lws_configuration
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Put a gang scheduler into the configuration of the LeaderWorkerSet controller
description:
  - Sets C(gangSchedulingManagement.schedulerProvider), or removes that section, and keeps everything else.
  - A text that says so already comes back as it is.
positional: _input, scheduler
options:
  _input:
    description: The configuration file's text.
    type: str
    required: true
  scheduler:
    description: Name of the gang scheduler. Empty means none.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the configuration that lets Volcano schedule gangs
  ansible.builtin.debug:
    msg: "{{ text | kubegang.core.lws_configuration('volcano') }}"
"""

RETURN = r"""
_value:
  description: The text with the wanted gang scheduler.
  type: str
"""

import yaml

SECTION = "gangSchedulingManagement"


def lws_configuration(text: str, scheduler: str) -> str:
    """The text with the wanted gang scheduler, unchanged when it has it."""
    document = yaml.safe_load(text) or {}
    rest = {key: value for key, value in document.items() if key != SECTION}
    gang = {SECTION: {**(document.get(SECTION) or {}), "schedulerProvider": str(scheduler)}} if scheduler else {}
    wanted = {**rest, **gang}
    return text if wanted == document else yaml.safe_dump(wanted, sort_keys=False)


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"lws_configuration": lws_configuration}
