#!/usr/bin/python
# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: volcano_queue
short_description: Manage a Volcano queue
version_added: 1.0.0
description:
  - Creates, changes, opens, closes or deletes a Queue (C(scheduling.volcano.sh/v1beta1)).
  - Amounts are compared by value (V(1000m) is V(1)), and what Volcano's webhook and controller fill in is no difference.
  - A new queue is waited for until Volcano's controller has opened it, because Volcano refuses Jobs before that.
author:
  - kubegang contributors (@kubegang)
extends_documentation_fragment:
  - kubegang.core._auth
  - kubegang.core._wait
  - kubegang.core._attributes.action_group
  - kubegang.core._attributes.state
options:
  name:
    description: Name of the queue. Queues have no namespace.
    type: str
    required: true
  state:
    description:
      - V(present) makes sure that the queue exists with the given values, whether open or closed.
      - V(open) and V(closed) do the same, then have Volcano open or close it and wait for that. A closed queue takes no new
        gangs; it is V(Closing) until those that it holds have ended.
      - V(absent) deletes it. Volcano keeps V(default), V(root), and queues that have children.
    type: str
    choices: [present, open, closed, absent]
    default: present
  weight:
    description: Share of what is left when all queues have what they deserve, relative to the other queues' weights.
    type: int
  capability:
    description:
      - The most that gangs of the queue may use in sum, as a mapping of resource name to quantity.
      - Given whole, a resource that is no longer named is no longer limited. The same holds for O(deserved) and O(guarantee).
    type: dict
  deserved:
    description: What the queue should have; other queues may borrow it and have to give it back (plugin V(capacity)).
    type: dict
  guarantee:
    description: What is kept for the queue even while it is idle. Not more than O(deserved), which it needs.
    type: dict
  reclaimable:
    description: Whether others may take back what the queue uses beyond its share. Volcano's default is V(true).
    type: bool
  parent:
    description: Name of the queue above, in a hierarchy. Volcano's default is V(root).
    type: str
  priority:
    description: Queues of higher priority are served first and have their resources reclaimed last.
    type: int
seealso:
  - module: kubegang.core.volcano_job
  - name: Volcano's documentation of queues
    description: Fields and states of a Queue.
    link: https://volcano.sh/en/docs/queue/
"""

EXAMPLES = r"""
- name: Let team research use at most 16 GPUs, and take back what it borrows
  kubegang.core.volcano_queue:
    name: research
    weight: 4
    reclaimable: true
    capability:
      nvidia.com/gpu: 16

- name: Take no new gangs while the nodes are serviced
  kubegang.core.volcano_queue:
    name: research
    state: closed

- name: Take gangs again
  kubegang.core.volcano_queue:
    name: research
    state: open

- name: Remove the queue
  kubegang.core.volcano_queue:
    name: research
    state: absent
"""

RETURN = r"""
state:
  description: V(Open), V(Closed), V(Closing) or V(Unknown), as Volcano's controller reports it.
  returned: when O(state) is not V(absent)
  type: str
  sample: Open
object:
  description: The Queue as stored; in check mode as it would be. Empty when it is absent.
  returned: success
  type: dict
  sample:
    apiVersion: scheduling.volcano.sh/v1beta1
    kind: Queue
    metadata: {name: research}
    spec: {weight: 4, reclaimable: true, parent: root, capability: {nvidia.com/gpu: "16"}}
    status: {state: Open}
"""

from ansible_collections.kubegang.core.plugins.module_utils._module import run
from ansible_collections.kubegang.core.plugins.module_utils._operation import WAIT_SPEC, Operation
from ansible_collections.kubegang.core.plugins.module_utils._queue import ensure_queue

OPERATION = Operation(
    ensure_queue,
    {
        **WAIT_SPEC,
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "open", "closed", "absent"], "default": "present"},
        "weight": {"type": "int"},
        "capability": {"type": "dict"},
        "deserved": {"type": "dict"},
        "guarantee": {"type": "dict"},
        "reclaimable": {"type": "bool"},
        "parent": {"type": "str"},
        "priority": {"type": "int"},
    },
)


def main() -> None:
    run(OPERATION)


if __name__ == "__main__":
    main()
