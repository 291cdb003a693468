#!/usr/bin/python
# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: volcano_job
short_description: Submit and manage a gang Job of Volcano
version_added: 1.0.0
description:
  - Creates, scales, suspends, resumes or deletes a Job (C(batch.volcano.sh/v1alpha1)), whose pods start together or not at all.
  - The same task run again sends no write request. Plain applies of the same file are denied by Volcano's webhook, because
    the defaults that it filled in look like removals to it; here the wanted values are compared with what is stored.
author:
  - kubegang contributors (@kubegang)
extends_documentation_fragment:
  - kubegang.core._auth
  - kubegang.core._wait
  - kubegang.core._attributes.action_group
  - kubegang.core._attributes.state
options:
  name:
    description: Name of the Job. Needed unless O(definition) has it.
    type: str
  namespace:
    description: Namespace of the Job; one in O(definition) comes first.
    type: str
    default: default
  state:
    description:
      - V(present) makes sure that the Job exists with the given values.
      - V(absent) deletes it and waits until its pods are gone, because their GPUs are not free before.
      - V(suspended) has Volcano abort the Job, which ends its pods and keeps the Job; V(resumed) starts it anew. Both need the
        Job to exist, and look at its name only.
    type: str
    choices: [present, absent, suspended, resumed]
    default: present
  definition:
    description:
      - The whole manifest, as an alternative to the options that describe the Job one by one.
      - Numbers that templating turned into text are accepted.
    type: dict
  queue:
    description: Queue to submit to. Volcano's default is the queue V(default).
    type: str
  min_available:
    description:
      - How many pods have to run at the same time for any of them to run.
      - The default is the sum of the tasks' own minimums, which is all pods.
    type: int
  tasks:
    description: The groups of equal pods that the gang is made of.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the task; its pods are called C(<job>-<task>-<index>).
        type: str
        required: true
      replicas:
        description: Number of pods.
        type: int
        default: 1
      min_available:
        description: How many pods of this task the gang needs. The default is all.
        type: int
      max_retry:
        description: How often pods of this task may be restarted. Volcano's default is 3.
        type: int
      policies:
        description: What Volcano does when something happens to a pod of this task, before the Job's own O(policies).
        type: list
        elements: dict
        suboptions: &policy
          event:
            description: For example V(PodFailed), V(PodEvicted), V(PodPending), V(TaskCompleted) or V(*).
            type: str
          events:
            description: Several of them.
            type: list
            elements: str
          action:
            description: For example V(RestartJob), V(RestartTask), V(RestartPod), V(AbortJob), V(TerminateJob) or V(CompleteJob).
            type: str
            required: true
          exit_code:
            description: Act when a container ends with this code, instead of on an event. Not V(0).
            type: int
          timeout:
            description: How long the event has to last, for example V(10m).
            type: str
      depends_on:
        description: Names of the tasks that have to run before pods of this one are created.
        type: list
        elements: str
      template:
        description: The pod template (C(core/v1) PodTemplateSpec), in the API's own spelling.
        type: dict
        required: true
  policies:
    description: What Volcano does when something happens to a pod of the Job.
    type: list
    elements: dict
    suboptions: *policy
  plugins:
    description: >-
      Job plugins with their arguments, for example V({'svc': [], 'env': []}) or V({'pytorch': ['--master=master']}).
    type: dict
  priority_class_name:
    description: PriorityClass of the gang.
    type: str
  max_retry:
    description: How often the whole Job may be restarted before it is V(Failed). Volcano's default is 3.
    type: int
  ttl_seconds_after_finished:
    description: Seconds after which Volcano deletes the finished Job.
    type: int
  volumes:
    description: Volumes that all pods mount.
    type: list
    elements: dict
    suboptions:
      mount_path:
        description: Where it is mounted.
        type: str
        required: true
      volume_claim_name:
        description: Name of an existing claim, or of the one that is made from O(volumes[].volume_claim).
        type: str
      volume_claim:
        description: Specification of a claim that is made for the Job (C(core/v1) PersistentVolumeClaimSpec).
        type: dict
  network_topology:
    description: How close to each other in the network the pods have to be (HyperNodes).
    type: dict
    suboptions:
      mode:
        description: Whether the pods wait (V(hard)) or run further apart (V(soft)) when there is no room close enough.
        type: str
        choices: [hard, soft]
        default: hard
      highest_tier_allowed:
        description: The highest HyperNode tier that may lie between two pods.
        type: int
  scheduler_name:
    description: The scheduler that serves the Job.
    type: str
    default: volcano
  labels:
    description: Labels of the Job.
    type: dict
  annotations:
    description: Annotations of the Job; Volcano hands those that it knows on to the PodGroup.
    type: dict
  on_immutable:
    description:
      - What to do when a value differs that cannot change on a live Job, which is all but O(min_available),
        O(priority_class_name), the replicas and the minimum of each task, labels and annotations.
      - V(fail) names the fields; V(recreate) deletes the Job with its pods and creates it again.
    type: str
    choices: [fail, recreate]
    default: fail
  wait_for:
    description:
      - V(created) returns when the server has stored the Job.
      - V(running) returns when the gang runs, as M(kubegang.core.gang_assert) proves it; a Job that has completed has run.
      - V(completed) returns when the Job is completed.
      - What keeps the gang from it is part of the message when the task fails.
    type: str
    choices: [created, running, completed]
    default: created
seealso:
  - module: kubegang.core.gang_assert
  - module: kubegang.core.volcano_queue
  - name: Volcano's documentation of Jobs
    description: Fields, policies and phases of a Job.
    link: https://volcano.sh/en/docs/vcjob/
"""

EXAMPLES = r"""
- name: Train on 4 pods with 8 GPUs each, all or none, and see them run
  kubegang.core.volcano_job:
    name: train
    queue: research
    policies:
      - event: PodEvicted
        action: RestartJob
    tasks:
      - name: worker
        replicas: 4
        template:
          spec:
            restartPolicy: Never
            containers:
              - name: main
                image: example.com/train:1
                resources:
                  limits:
                    nvidia.com/gpu: 8
    wait_for: running
    wait_timeout: 600

- name: Submit a manifest from a file
  kubegang.core.volcano_job:
    definition: "{{ lookup('ansible.builtin.file', 'train.yaml') | from_yaml }}"
    on_immutable: recreate

- name: Give the GPUs back for tonight, and keep the Job
  kubegang.core.volcano_job:
    name: train
    state: suspended

- name: Go on in the morning
  kubegang.core.volcano_job:
    name: train
    state: resumed

- name: Remove the Job and its pods
  kubegang.core.volcano_job:
    name: train
    state: absent
"""

RETURN = r"""
object:
  description: The Job as stored; in check mode as it would be. Empty when it is absent.
  returned: success
  type: dict
  sample:
    apiVersion: batch.volcano.sh/v1alpha1
    kind: Job
    metadata: {name: train, namespace: default}
    spec: {minAvailable: 4, queue: research, schedulerName: volcano}
    status: {state: {phase: Running}, running: 4, minAvailable: 4}
"""

from ansible_collections.kubegang.core.plugins.module_utils._job import ensure_job
from ansible_collections.kubegang.core.plugins.module_utils._module import run
from ansible_collections.kubegang.core.plugins.module_utils._operation import WAIT_SPEC, Operation

POLICIES = {
    "type": "list",
    "elements": "dict",
    "options": {
        "event": {"type": "str"},
        "events": {"type": "list", "elements": "str"},
        "action": {"type": "str", "required": True},
        "exit_code": {"type": "int"},
        "timeout": {"type": "str"},
    },
}
TASKS = {
    "type": "list",
    "elements": "dict",
    "options": {
        "name": {"type": "str", "required": True},
        "replicas": {"type": "int", "default": 1},
        "min_available": {"type": "int"},
        "max_retry": {"type": "int"},
        "policies": POLICIES,
        "depends_on": {"type": "list", "elements": "str"},
        "template": {"type": "dict", "required": True},
    },
}
VOLUMES = {
    "type": "list",
    "elements": "dict",
    "options": {
        "mount_path": {"type": "str", "required": True},
        "volume_claim_name": {"type": "str"},
        "volume_claim": {"type": "dict"},
    },
}
NETWORK_TOPOLOGY = {
    "type": "dict",
    "options": {
        "mode": {"type": "str", "choices": ["hard", "soft"], "default": "hard"},
        "highest_tier_allowed": {"type": "int"},
    },
}
# What describes the Job one by one, where no definition does.
PARTS = {
    "queue": {"type": "str"},
    "min_available": {"type": "int"},
    "tasks": TASKS,
    "policies": POLICIES,
    "plugins": {"type": "dict"},
    "priority_class_name": {"type": "str"},
    "max_retry": {"type": "int"},
    "ttl_seconds_after_finished": {"type": "int"},
    "volumes": VOLUMES,
    "network_topology": NETWORK_TOPOLOGY,
    "labels": {"type": "dict"},
    "annotations": {"type": "dict"},
}


OPERATION = Operation(
    ensure_job,
    {
        **WAIT_SPEC,
        **PARTS,
        "name": {"type": "str"},
        "namespace": {"type": "str", "default": "default"},
        "state": {"type": "str", "choices": ["present", "absent", "suspended", "resumed"], "default": "present"},
        "definition": {"type": "dict"},
        "scheduler_name": {"type": "str", "default": "volcano"},
        "on_immutable": {"type": "str", "choices": ["fail", "recreate"], "default": "fail"},
        "wait_for": {"type": "str", "choices": ["created", "running", "completed"], "default": "created"},
    },
    {
        "mutually_exclusive": [("definition", part) for part in PARTS],
        "required_one_of": [("name", "definition")],
        "required_if": [("state", "present", ("tasks", "definition"), True)],
    },
)


def main() -> None:
    run(OPERATION)


if __name__ == "__main__":
    main()
