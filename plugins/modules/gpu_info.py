#!/usr/bin/python
# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_info
short_description: Count the GPUs of nodes, what pods request of them, and what is left for a gang
version_added: 1.0.0
description:
  - Returns, for each node with GPUs and in all, how many the node has (capacity), how many of them can be given to pods
    (allocatable), how many running and starting pods request, and how many are free.
  - A device plugin that has gone leaves the capacity and takes allocatable to 0, and a GPU that it finds unhealthy lowers
    allocatable; capacity alone proves nothing.
  - The same numbers explain a shortage in M(kubegang.core.gang_assert).
author:
  - kubegang contributors (@kubegang)
extends_documentation_fragment:
  - kubegang.core._auth
  - kubegang.core._attributes.action_group
  - kubegang.core._attributes.read
options:
  gpus_per_pod:
    description: GPUs that each pod of a gang would want, for RV(largest_gang).
    type: int
    default: 1
  resource_names:
    description:
      - Names of the resources that count as GPUs.
      - The default is all those of NVIDIA's device plugin, V(nvidia.com/gpu), V(nvidia.com/gpu.shared) and V(nvidia.com/mig-*).
    type: list
    elements: str
  label_selectors:
    description: Label selectors of the nodes that are looked at; all of them must match. The default is all nodes.
    type: list
    elements: str
seealso:
  - module: kubegang.core.gang_assert
  - module: kubegang.core.gang_info
"""

EXAMPLES = r"""
- name: Count the GPUs, and pods with 8 of them each that would find room now
  kubegang.core.gpu_info:
    gpus_per_pod: 8
  register: gpus

- name: Require that every GPU that a node has can be given to pods
  ansible.builtin.assert:
    that: gpus.totals['nvidia.com/gpu'].unhealthy == 0

- name: Look at the GPUs of one rack
  kubegang.core.gpu_info:
    label_selectors:
      - topology.kubernetes.io/rack=r7
"""

RETURN = r"""
nodes:
  description: Every node that has GPUs, or whose labels say that it should.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the node.
      type: str
      returned: always
      sample: gpu-0000
    product:
      description: The product, from the label C(nvidia.com/gpu.product); empty where it is missing.
      type: str
      returned: always
      sample: NVIDIA-H100-80GB-HBM3
    expected:
      description:
        - How many GPUs the node's labels promise, C(nvidia.com/gpu.count) times C(nvidia.com/gpu.replicas) where they are shared.
        - V(1) where only C(nvidia.com/gpu.present) promises one, V(0) where nothing does.
      type: int
      returned: always
      sample: 8
    obstacle:
      description: Why the node would take no pod however empty it is, V(cordoned) or V(not ready); empty when it would.
      type: str
      returned: always
      sample: ""
    resources:
      description: By the resource's name, its numbers.
      type: dict
      returned: always
      sample:
        nvidia.com/gpu: {capacity: 8, allocatable: 8, unhealthy: 0, requested: 4, free: 4}
totals:
  description: The same numbers over all nodes.
  returned: success
  type: dict
  sample:
    nvidia.com/gpu: {capacity: 32, allocatable: 32, unhealthy: 0, requested: 16, free: 16}
largest_gang:
  description:
    - By the resource's name, how many pods with O(gpus_per_pod) each would find room at this moment, on nodes that take pods.
    - Queues, other resources and node labels are not looked at.
  returned: success
  type: dict
  sample:
    nvidia.com/gpu: 2
"""

from ansible_collections.kubegang.core.plugins.module_utils._gpus import gpu_facts
from ansible_collections.kubegang.core.plugins.module_utils._module import run
from ansible_collections.kubegang.core.plugins.module_utils._operation import Operation

OPERATION = Operation(
    gpu_facts,
    {
        "gpus_per_pod": {"type": "int", "default": 1},
        "resource_names": {"type": "list", "elements": "str"},
        "label_selectors": {"type": "list", "elements": "str"},
    },
)


def main() -> None:
    run(OPERATION)


if __name__ == "__main__":
    main()
