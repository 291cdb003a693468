#!/usr/bin/python
# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gang_info
short_description: Look at gangs, their members, and why they do not run
version_added: 1.0.0
description:
  - Returns the gangs of a Volcano Job, a LeaderWorkerSet, a PodGroup, or of many of them, with a count of what each
    needs and has, every member, and the reasons why a gang does not run whole.
  - The reasons are gathered from the PodGroup, the pods, their containers and events, the queue, and what is free on
    nodes. What the credentials may not read is left out.
author:
  - kubegang contributors (@kubegang)
extends_documentation_fragment:
  - kubegang.core._auth
  - kubegang.core._target
  - kubegang.core._attributes.action_group
  - kubegang.core._attributes.read
seealso:
  - module: kubegang.core.gang_assert
"""

EXAMPLES = r"""
- name: Look at the gang of a Job
  kubegang.core.gang_info:
    name: train
    namespace: research
  register: train

- name: Say why it does not run
  ansible.builtin.debug:
    msg: "{{ train.gangs | map(attribute='reasons') | flatten }}"

- name: Look at every gang of a namespace
  kubegang.core.gang_info:
    namespace: research

- name: Look at the LeaderWorkerSets of one team
  kubegang.core.gang_info:
    kind: LeaderWorkerSet
    namespace: inference
    label_selectors:
      - team=nlp
"""

RETURN = r"""
gangs:
  description: The gangs, none when there are none.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the Job, of the LeaderWorkerSet's leader pod, or of the PodGroup.
      type: str
      returned: always
      sample: train
    namespace:
      description: Its namespace.
      type: str
      returned: always
      sample: research
    kind:
      description: V(Job), V(LeaderWorkerSet), or V(PodGroup) for one that belongs to neither.
      type: str
      returned: always
      sample: Job
    workload:
      description: Name of the Job or LeaderWorkerSet; empty for a lone PodGroup.
      type: str
      returned: always
      sample: train
    workload_phase:
      description: Phase of the Job; empty for other kinds.
      type: str
      returned: always
      sample: Running
    podgroup:
      description: Name of the PodGroup; empty while there is none.
      type: str
      returned: always
      sample: train-5f0ed0a1-0b5e-4b0c-8a57-0a8b0e9b6c55
    queue:
      description: The queue.
      type: str
      returned: always
      sample: default
    phase:
      description: Phase of the PodGroup; empty as long as no scheduler has looked at it.
      type: str
      returned: always
      sample: Running
    min_member:
      description: The C(minMember) of the PodGroup.
      type: int
      returned: always
      sample: 4
    needed:
      description: How many pods must run; RV(gangs[].min_member), or the whole group of a LeaderWorkerSet.
      type: int
      returned: always
      sample: 4
    pods:
      description: How many pods exist.
      type: int
      returned: always
      sample: 4
    bound:
      description: How many pods have a node.
      type: int
      returned: always
      sample: 4
    running:
      description: How many pods run.
      type: int
      returned: always
      sample: 4
    ready:
      description: How many pods run with all containers ready.
      type: int
      returned: always
      sample: 4
    succeeded:
      description: How many pods have succeeded.
      type: int
      returned: always
      sample: 0
    failed:
      description: How many pods have failed.
      type: int
      returned: always
      sample: 0
    nodes:
      description: Names of the nodes that its pods are on.
      type: list
      elements: str
      returned: always
      sample: [gpu-0000, gpu-0001, gpu-0002, gpu-0003]
    revision:
      description: Hash of the template that a group of a LeaderWorkerSet was made from; empty for other gangs.
      type: str
      returned: always
      sample: 6f7b9c5d8f
    updated:
      description: Whether that is the newest template; always so for other gangs.
      type: bool
      returned: always
      sample: true
    tasks:
      description: For a Job, by task name, what the task wants and what it has.
      type: dict
      returned: always
      sample:
        worker: {replicas: 4, min_available: 4, pods: 4, running: 4, ready: 4, succeeded: 0, failed: 0}
    members:
      description: Its pods.
      type: list
      elements: dict
      returned: always
      contains:
        pod:
          description: Name of the pod.
          type: str
          returned: always
          sample: train-worker-3
        node:
          description: Its node; empty while it has none.
          type: str
          returned: always
          sample: gpu-0003
        phase:
          description: Its phase.
          type: str
          returned: always
          sample: Pending
        status:
          description: The word that C(kubectl get pods) prints.
          type: str
          returned: always
          sample: ImagePullBackOff
        ready:
          description: Whether it runs with all containers ready.
          type: bool
          returned: always
          sample: false
        task:
          description: Its task in a Job; empty elsewhere.
          type: str
          returned: always
          sample: worker
        reason:
          description: Why it does not do its part; empty when it does.
          type: str
          returned: always
          sample: "container main: ImagePullBackOff registry.example/train:1"
    reasons:
      description: Why the gang, or a member beyond those that it needs, does not run.
      type: list
      elements: str
      returned: always
      sample:
        - "train-worker-3: container main: ImagePullBackOff registry.example/train:1"
"""

from ansible_collections.kubegang.core.plugins.module_utils._assert import gang_facts
from ansible_collections.kubegang.core.plugins.module_utils._gang import TARGET_EXCLUSIVE, TARGET_SPEC
from ansible_collections.kubegang.core.plugins.module_utils._module import run
from ansible_collections.kubegang.core.plugins.module_utils._operation import Operation

OPERATION = Operation(gang_facts, TARGET_SPEC, {"mutually_exclusive": TARGET_EXCLUSIVE})


def main() -> None:
    run(OPERATION)


if __name__ == "__main__":
    main()
