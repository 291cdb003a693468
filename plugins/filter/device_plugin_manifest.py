# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: device_plugin_manifest
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Give the objects of NVIDIA's static device plugin manifest the wanted image, runtime class and configuration
description:
  - NVIDIA's static manifest has one DaemonSet, without a runtime class and a configuration, and for every node of the cluster.
  - Names image and runtime class, mounts the configuration and marks the pods with its checksum, so that another one makes
    new pods.
  - Keeps the pods off nodes without GPUs, where the manifest does not say itself which nodes it is for.
  - Labels every object with C(app.kubernetes.io/managed-by=kubegang), by which a later run knows its own.
positional: _input, wanted
options:
  _input:
    description: The objects.
    type: list
    elements: dict
    required: true
  wanted:
    description:
      - C(image), C(pull_policy), C(pull_secrets), C(runtime_class), C(tolerations), C(mig_strategy), and C(configuration), the
        text of the plugin's configuration file, which may be empty.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Install from the manifest of a release
  kubernetes.core.k8s:
    definition: "{{ lookup('ansible.builtin.file', 'nvidia-device-plugin.yml') | from_yaml_all | select
      | kubegang.core.device_plugin_manifest(wanted) }}"
"""

RETURN = r"""
_value:
  description: The objects in the same order, after a ConfigMap where there is a configuration.
  type: list
  elements: dict
"""

import hashlib
from copy import deepcopy

MOUNT = "/kubegang"
KEY = "config.yaml"
GPU_NODES = [
    {"matchExpressions": [{"key": label, "operator": "In", "values": ["true"]}]}
    for label in ("nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present")
]


def device_plugin_manifest(objects: list[dict], wanted: dict) -> list[dict]:
    """The objects as the role applies them."""
    objects = [deepcopy(dict(each)) for each in objects]
    for each in objects:
        if each["kind"] == "DaemonSet":
            _complete(each, wanted)
    maps = [_config_map(each, wanted["configuration"]) for each in objects if each["kind"] == "DaemonSet"]
    objects = [*(maps if wanted["configuration"] else []), *objects]
    for each in objects:
        each["metadata"].setdefault("labels", {})["app.kubernetes.io/managed-by"] = "kubegang"
    return objects


def _complete(daemonset: dict, wanted: dict) -> None:
    template = daemonset["spec"]["template"]
    spec = template["spec"]
    spec["tolerations"] = wanted["tolerations"]
    if wanted["runtime_class"]:
        spec["runtimeClassName"] = wanted["runtime_class"]
    if wanted["pull_secrets"]:
        spec["imagePullSecrets"] = wanted["pull_secrets"]
    if not spec.get("nodeSelector") and not spec.get("affinity"):
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": GPU_NODES}}
        spec["affinity"] = {"nodeAffinity": required}
    container = spec["containers"][0]
    container["image"], container["imagePullPolicy"] = wanted["image"], wanted["pull_policy"]
    _set_env(container, "MIG_STRATEGY", wanted["mig_strategy"])
    if wanted["configuration"]:
        _mount_configuration(daemonset, template, container, wanted["configuration"])


def _mount_configuration(daemonset: dict, template: dict, container: dict, configuration: str) -> None:
    source = {"name": "kubegang-config", "configMap": {"name": _config_name(daemonset)}}
    template["spec"].setdefault("volumes", []).append(source)
    container.setdefault("volumeMounts", []).append({"name": "kubegang-config", "mountPath": MOUNT})
    _set_env(container, "CONFIG_FILE", f"{MOUNT}/{KEY}")
    annotations = template.setdefault("metadata", {}).setdefault("annotations", {})
    annotations["kubegang.dev/configuration"] = hashlib.sha256(configuration.encode()).hexdigest()


def _set_env(container: dict, name: str, value: str) -> None:
    others = [each for each in container.get("env") or [] if each["name"] != name]
    container["env"] = [*others, {"name": name, "value": value}]


def _config_map(daemonset: dict, configuration: str) -> dict:
    metadata = {"name": _config_name(daemonset), "namespace": daemonset["metadata"]["namespace"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: configuration}}


def _config_name(daemonset: dict) -> str:
    return f"{daemonset['metadata']['name']}-config"


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"device_plugin_manifest": device_plugin_manifest}
