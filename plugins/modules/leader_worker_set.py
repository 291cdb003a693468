#!/usr/bin/python
# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: leader_worker_set
short_description: Submit and manage a LeaderWorkerSet whose groups start as gangs
version_added: 1.0.0
description:
  - Creates, changes, scales or deletes a LeaderWorkerSet (C(leaderworkerset.x-k8s.io/v1)), O(replicas) groups of one leader and
    its workers. With the LWS controller's C(gangSchedulingManagement), which the role P(kubegang.core.lws#role) sets up, each
    group starts together or not at all.
  - It sets what is easily forgotten. LWS puts the scheduler's name into no pod template and reads the queue in one place only.
  - The same task run again sends no write request. Defaults of the webhook, values that it rewrites, and quantities in another
    spelling are no difference. When nothing but the number of groups differs, it goes through the scale subresource.
author:
  - kubegang contributors (@kubegang)
extends_documentation_fragment:
  - kubegang.core._auth
  - kubegang.core._wait
  - kubegang.core._attributes.action_group
  - kubegang.core._attributes.state
options:
  name:
    description:
      - Name of the LeaderWorkerSet. Needed unless O(definition) has it.
      - With one digit for the groups' index, at most 50 characters. The API accepts longer ones, whose workers may then be
        impossible to create.
    type: str
  namespace:
    description: Namespace of the LeaderWorkerSet; one in O(definition) comes first.
    type: str
    default: default
  state:
    description:
      - V(present) makes sure that the LeaderWorkerSet exists with the given values.
      - V(absent) deletes it and waits until its pods are gone, because their GPUs are not free before.
    type: str
    choices: [present, absent]
    default: present
  definition:
    description:
      - The whole manifest, as an alternative to the options that describe the LeaderWorkerSet one by one. O(scheduler_name),
        O(queue) and O(exclusive_topology) work with it too.
      - Numbers that templating turned into text are accepted.
    type: dict
  replicas:
    description:
      - Number of groups. LWS makes one when it is never given.
      - Leave it out where a HorizontalPodAutoscaler sets it; then it is left alone. A task that changes it nevertheless warns.
    type: int
  size:
    description: Number of pods of each group, its leader included. The default of LWS is 1. Another size rolls out new groups.
    type: int
  leader_template:
    description:
      - The pod template of the leaders (C(core/v1) PodTemplateSpec), in the API's own spelling.
      - Without it, leaders are made from O(worker_template).
    type: dict
  worker_template:
    description: The pod template of the workers (C(core/v1) PodTemplateSpec), in the API's own spelling.
    type: dict
  restart_policy:
    description:
      - V(RecreateGroupOnPodRestart), the default of LWS, makes the whole group anew when one of its pods or containers is
        restarted. V(RecreateGroupAfterStart), from LWS 0.9 on, does so only once all of its pods have started.
      - V(None) lets the other pods run on. V(Default) is an outdated word for it.
    type: str
    choices: [RecreateGroupOnPodRestart, RecreateGroupAfterStart, None, Default]
  startup_policy:
    description:
      - Whether the workers are made once their leader exists (V(LeaderCreated), the default of LWS) or once it is ready.
      - V(LeaderReady) lowers the gang's C(minMember) to 1, so that a leader starts although its workers may have no room.
    type: str
    choices: [LeaderCreated, LeaderReady]
  rollout:
    description: How groups are replaced when a template or the size changes, from the highest index down.
    type: dict
    suboptions:
      partition:
        description: Groups with a lower index keep the earlier template.
        type: int
      max_unavailable:
        description: How many groups, as a number or a percentage, may be down meanwhile. The default of LWS is 1.
        type: str
      max_surge:
        description: How many groups, as a number or a percentage, may be made on top. The default of LWS is 0.
        type: str
  sub_group_policy:
    description: Parts that each group is divided into. They can neither come, go nor change on a live LeaderWorkerSet.
    type: dict
    suboptions:
      size:
        description: Pods of each part (C(subGroupSize)). It divides O(size), or O(size) - 1.
        type: int
        required: true
      type:
        description: Whether the leader belongs to the first part (V(LeaderWorker)) or to none.
        type: str
        choices: [LeaderWorker, LeaderExcluded]
        default: LeaderWorker
  subdomain_policy:
    description:
      - Whether all groups share one headless service (V(Shared), the default of LWS) or each has its own.
    type: str
    choices: [Shared, UniquePerReplica]
  exclusive_topology:
    description:
      - A node label. All pods of a group land on nodes with one value of it, and no two groups on the same.
      - LWS reads it from an annotation when it makes a group; groups that exist stay where they are.
      - LWS then makes workers only once their leader has a node, and a gang gets nodes only once all of its pods exist. So groups
        that start as gangs never start with it, unless O(startup_policy=LeaderReady) lowers what their gang needs to the leader.
    type: str
  scheduler_name:
    description:
      - The scheduler of all pods. It is written into both templates, which LWS itself does not do; one that names another
        scheduler is an error, since a gang has one.
      - Empty leaves the templates alone, for groups that shall not start as gangs.
    type: str
    default: volcano
  queue:
    description:
      - Volcano queue of the gangs, as the annotation that LWS reads on the LeaderWorkerSet. The default is the queue V(default).
      - Gangs that exist stay in theirs until their group is made anew.
    type: str
  volume_claim_templates:
    description: Claims that are made for each pod (C(core/v1) PersistentVolumeClaim). They cannot change.
    type: list
    elements: dict
  labels:
    description: Labels of the LeaderWorkerSet.
    type: dict
  annotations:
    description: Annotations of the LeaderWorkerSet; LWS hands those that begin with C(volcano.sh/) on to the PodGroups.
    type: dict
  on_immutable:
    description:
      - What to do when O(sub_group_policy) or O(volume_claim_templates) differs, which cannot change on a live LeaderWorkerSet.
      - V(fail) names the fields; V(recreate) deletes the LeaderWorkerSet with its pods and creates it again.
    type: str
    choices: [fail, recreate]
    default: fail
  wait_for:
    description:
      - V(created) returns when the server has stored the LeaderWorkerSet.
      - V(running) returns when every group runs whole, as M(kubegang.core.gang_assert) proves it, whichever template each was
        made from. Conditions and counters of the LeaderWorkerSet are not believed.
      - V(updated) returns when, besides, every group from O(rollout.partition) on was made from the newest template and no
        surplus group is left.
      - With no group wanted, both return when no pod is left.
      - What keeps a group from it is part of the message when the task fails.
    type: str
    choices: [created, running, updated]
    default: created
seealso:
  - module: kubegang.core.gang_assert
  - module: kubegang.core.volcano_queue
  - name: LeaderWorkerSet API
    description: Fields, labels and annotations of a LeaderWorkerSet.
    link: https://lws.sigs.k8s.io/docs/reference/leaderworkerset.v1/
"""

EXAMPLES = r"""
- name: Serve one model on two groups of 4 nodes, each group all or none
  kubegang.core.leader_worker_set:
    name: serve
    namespace: inference
    queue: online
    replicas: 2
    size: 4
    worker_template:
      spec:
        containers:
          - name: engine
            image: example.com/engine:1
            resources:
              limits:
                nvidia.com/gpu: 8
    wait_for: running
    wait_timeout: 900

- name: Roll out another image, one group at a time, and see it through
  kubegang.core.leader_worker_set:
    name: serve
    namespace: inference
    rollout:
      max_unavailable: 1
    worker_template:
      spec:
        containers:
          - name: engine
            image: example.com/engine:2
            resources:
              limits:
                nvidia.com/gpu: 8
    wait_for: updated
    wait_timeout: 1800

- name: Submit a manifest from a file, into the queue of this site
  kubegang.core.leader_worker_set:
    definition: "{{ lookup('ansible.builtin.file', 'serve.yaml') | from_yaml }}"
    queue: online

- name: Remove the groups and their pods
  kubegang.core.leader_worker_set:
    name: serve
    namespace: inference
    state: absent
"""

RETURN = r"""
object:
  description: The LeaderWorkerSet as stored; in check mode as it would be. Empty when it is absent.
  returned: success
  type: dict
  sample:
    apiVersion: leaderworkerset.x-k8s.io/v1
    kind: LeaderWorkerSet
    metadata: {name: serve, namespace: inference}
    spec: {replicas: 2, startupPolicy: LeaderCreated}
    status: {replicas: 2, readyReplicas: 2, updatedReplicas: 2}
"""

from ansible_collections.kubegang.core.plugins.module_utils._leader_worker_set import ensure_leader_worker_set
from ansible_collections.kubegang.core.plugins.module_utils._module import run
from ansible_collections.kubegang.core.plugins.module_utils._operation import WAIT_SPEC, Operation

# What describes the LeaderWorkerSet one by one, where no definition does.
PARTS = {
    "replicas": {"type": "int"},
    "size": {"type": "int"},
    "leader_template": {"type": "dict"},
    "worker_template": {"type": "dict"},
    "restart_policy": {
        "type": "str",
        "choices": ["RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None", "Default"],
    },
    "startup_policy": {"type": "str", "choices": ["LeaderCreated", "LeaderReady"]},
    "rollout": {
        "type": "dict",
        "options": {
            "partition": {"type": "int"},
            "max_unavailable": {"type": "str"},
            "max_surge": {"type": "str"},
        },
    },
    "sub_group_policy": {
        "type": "dict",
        "options": {
            "size": {"type": "int", "required": True},
            "type": {"type": "str", "choices": ["LeaderWorker", "LeaderExcluded"], "default": "LeaderWorker"},
        },
    },
    "subdomain_policy": {"type": "str", "choices": ["Shared", "UniquePerReplica"]},
    "volume_claim_templates": {"type": "list", "elements": "dict"},
    "labels": {"type": "dict"},
    "annotations": {"type": "dict"},
}

OPERATION = Operation(
    ensure_leader_worker_set,
    {
        **WAIT_SPEC,
        **PARTS,
        "name": {"type": "str"},
        "namespace": {"type": "str", "default": "default"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "definition": {"type": "dict"},
        "exclusive_topology": {"type": "str"},
        "scheduler_name": {"type": "str", "default": "volcano"},
        "queue": {"type": "str"},
        "on_immutable": {"type": "str", "choices": ["fail", "recreate"], "default": "fail"},
        "wait_for": {"type": "str", "choices": ["created", "running", "updated"], "default": "created"},
    },
    {
        "mutually_exclusive": [("definition", part) for part in PARTS],
        "required_one_of": [("name", "definition")],
        "required_if": [("state", "present", ("worker_template", "definition"), True)],
    },
)


def main() -> None:
    run(OPERATION)


if __name__ == "__main__":
    main()
