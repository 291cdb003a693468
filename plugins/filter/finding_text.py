# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: finding_text
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Say a finding in one sentence
description:
  - A finding is what a verification found wrong, with what it expected and what helps.
options:
  _input:
    description: The finding, with C(id), C(expected), C(found) and C(remedy).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Say what is wrong
  ansible.builtin.debug:
    msg: "{{ nvidia_driver_findings | map('kubegang.core.finding_text') | join('; ') }}"
"""

RETURN = r"""
_value:
  description: The sentence.
  type: str
"""


def finding_text(finding: dict) -> str:
    """One line for people."""
    return f"{finding['id']}: expected {finding['expected']}, found {finding['found']}; {finding['remedy']}"


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"finding_text": finding_text}
