#!/usr/bin/python
# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gang_assert
short_description: Prove that gangs run, have completed, or are held back whole
version_added: 1.0.0
description:
  - Waits until every gang of a Volcano Job, a LeaderWorkerSet, a PodGroup, or of many of them, is as expected, and
    fails with the reasons when one is not.
  - No phase is taken for proof. A gang runs when at least as many of its pods as it needs have a node, run, and are
    ready at the same moment. Pods of an earlier object of the same name, pods that are being deleted and failed pods
    count for nothing.
  - What a gang needs is the C(minMember) of its PodGroup; for a replica of a LeaderWorkerSet it is the whole group,
    even where its startup policy V(LeaderReady) lowers C(minMember) to 1. Pods that succeeded count as long as
    another one runs.
  - It ends at once when waiting is of no use, for instance when a Job has failed or was deleted, its queue is closed
    or does not exist, or no scheduler serves its C(schedulerName).
author:
  - kubegang contributors (@kubegang)
extends_documentation_fragment:
  - kubegang.core._auth
  - kubegang.core._wait
  - kubegang.core._target
  - kubegang.core._attributes.action_group
  - kubegang.core._attributes.read
options:
  expect:
    description:
      - V(running) means that the gang runs whole.
      - V(completed) means that the Job has completed and at least one of its pods succeeded, or that all pods of a lone
        PodGroup succeeded. A LeaderWorkerSet never completes.
      - V(held) means that a scheduler knows the gang and none of its pods has a node. With O(hold_for) this proves
        all-or-nothing, and it fails as soon as a pod is bound after the gang was seen held.
    type: str
    choices: [running, completed, held]
    default: running
  hold_for:
    description:
      - Seconds for which all gangs must be as expected without a break, looked at once a second and whenever
        something changes.
      - O(wait_timeout) limits when that begins, not when it ends.
    type: int
    default: 0
  require_ready:
    description: Whether every container of a pod must be ready before the pod counts as running.
    type: bool
    default: true
  every_task_minimum:
    description:
      - Whether each task of a Job must reach its own C(minAvailable) too. Volcano itself is content with that of the
        Job.
    type: bool
    default: false
  accept_finished:
    description: With O(expect=running), whether a gang that has completed already is as good as one that runs.
    type: bool
    default: false
  distinct_nodes:
    description: With O(expect=running), whether every pod of a gang must run on a node of its own.
    type: bool
    default: false
  same_topology:
    description: With O(expect=running), a node label that must have one and the same value for all pods of a gang.
    type: str
  queue:
    description: The queue that every gang must be in.
    type: str
  rollout:
    description:
      - With O(expect=running), how far the roll-out of a LeaderWorkerSet must have come. Without it, each group may have been
        made from whichever template.
      - V(partitioned) means that every group which the partition lets through was made from the newest template.
      - V(complete) means every group. It fails at once when a partition holds some back.
    type: str
    choices: [partitioned, complete]
seealso:
  - module: kubegang.core.gang_info
  - module: kubegang.core.leader_worker_set
  - module: kubegang.core.volcano_job
"""

EXAMPLES = r"""
- name: Prove that the whole gang runs, each pod on its own node, all in one rack
  kubegang.core.gang_assert:
    name: train
    namespace: research
    distinct_nodes: true
    same_topology: topology.kubernetes.io/rack
    wait_timeout: 300

- name: Prove that it does not crash in its first minute
  kubegang.core.gang_assert:
    name: train
    namespace: research
    hold_for: 60

- name: Prove that a gang that does not fit gets no node at all
  kubegang.core.gang_assert:
    name: too-big
    namespace: research
    expect: held
    hold_for: 20

- name: Look once whether every replica of a LeaderWorkerSet runs whole
  kubegang.core.gang_assert:
    kind: LeaderWorkerSet
    name: serve
    namespace: inference
    wait_timeout: 0

- name: Wait for the nightly Jobs
  kubegang.core.gang_assert:
    kind: Job
    namespace: research
    label_selectors:
      - schedule=nightly
    expect: completed
    wait_timeout: 3600
"""

RETURN = r"""
msg:
  description: What was proven, or why it could not be.
  returned: always
  type: str
  sample: "gang research/train: 4 of 4 pods running on 4 nodes"
seconds:
  description: How long it took.
  returned: success
  type: float
  sample: 3.21
groups:
  description: How many gangs were looked at.
  returned: always, once the cluster has answered
  type: int
  sample: 4
updated_groups:
  description: How many of them RV(gangs[].updated) holds for.
  returned: always, once the cluster has answered
  type: int
  sample: 4
reasons:
  description: Why, one text for each gang that is not as expected.
  returned: failure
  type: list
  elements: str
  sample:
    - "gang research/train: 0 of 4 pods bound; PodGroup is Inqueue (NotEnoughResources); needs 32 nvidia.com/gpu (4
      pods, 8 each), 24 free on 3 nodes; queue default is Open"
gangs:
  description: The gangs of the last look.
  returned: always, once the cluster has answered
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
"""

from ansible_collections.kubegang.core.plugins.module_utils._assert import assert_gangs
from ansible_collections.kubegang.core.plugins.module_utils._gang import TARGET_EXCLUSIVE, TARGET_SPEC
from ansible_collections.kubegang.core.plugins.module_utils._module import run
from ansible_collections.kubegang.core.plugins.module_utils._operation import WAIT_SPEC, Operation

OPERATION = Operation(
    assert_gangs,
    {
        **WAIT_SPEC,
        **TARGET_SPEC,
        "expect": {"type": "str", "choices": ["running", "completed", "held"], "default": "running"},
        "hold_for": {"type": "int", "default": 0},
        "require_ready": {"type": "bool", "default": True},
        "every_task_minimum": {"type": "bool", "default": False},
        "accept_finished": {"type": "bool", "default": False},
        "distinct_nodes": {"type": "bool", "default": False},
        "same_topology": {"type": "str"},
        "queue": {"type": "str"},
        "rollout": {"type": "str", "choices": ["partitioned", "complete"]},
    },
    {"mutually_exclusive": TARGET_EXCLUSIVE},
)


def main() -> None:
    run(OPERATION)


if __name__ == "__main__":
    main()
