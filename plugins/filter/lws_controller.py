# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: lws_controller
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Find the LeaderWorkerSet controller that a webhook leads to, and the configuration that it reads
description:
  - Names differ between charts, manifests and operators, so nothing is found by name. The service of the webhook selects
    pods, the Deployment with such pods is the controller, and its C(--config) argument, looked up among the mounts of its
    container, says which key of which ConfigMap holds the configuration.
positional: _input, service
options:
  _input:
    description: Services, Deployments and ConfigMaps in the namespace of the service.
    type: list
    elements: dict
    required: true
  service:
    description: Name of the service that the webhook calls.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show what the controller is configured to do
  ansible.builtin.debug:
    msg: "{{ controller.config_map.data[controller.config_key] | from_yaml }}"
  vars:
    controller: "{{ found.results | map(attribute='resources') | flatten | kubegang.core.lws_controller('lws-webhook-service') }}"
"""

RETURN = r"""
_value:
  description: The controller; empty when no Deployment is behind the service.
  type: dict
  contains:
    deployment:
      description: The Deployment.
      type: dict
    service_account:
      description: Name of the service account that its pods run as.
      type: str
    version:
      description: The tag of its image without a leading C(v), empty when that is no version.
      type: str
    config_map:
      description: The ConfigMap; empty when the controller reads none, or one that does not exist.
      type: dict
    config_key:
      description: The key in it.
      type: str
    owner:
      description: The operator, or its object, that keeps the ConfigMap or the Deployment as it is; empty when nobody does.
      type: str
"""

import re
from pathlib import PurePosixPath

OPERATOR_LABEL_PREFIX = "operators.coreos.com/"
FLAG = "--config"


def lws_controller(objects: list[dict], service: str) -> dict:
    """The Deployment behind a service, and what it reads and who keeps it."""
    selector = _named(objects, "Service", service).get("spec", {}).get("selector")
    deployment = next((each for each in objects if selector and _is_selected(each, selector)), None)
    if deployment is None:
        return {}
    pod = deployment["spec"]["template"]["spec"]
    container = next((each for each in pod["containers"] if _config_file(each)), pod["containers"][0])
    name, key = _config_source(pod, container)
    config_map = _named(objects, "ConfigMap", name)
    return {
        "deployment": deployment,
        "service_account": pod.get("serviceAccountName", "default"),
        "version": _version(container.get("image", "")),
        "config_map": config_map,
        "config_key": key,
        "owner": _owner(config_map) or _owner(deployment),
    }


def _named(objects: list[dict], kind: str, name: str) -> dict:
    return next((each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name), {})


def _is_selected(each: dict, selector: dict) -> bool:
    if each["kind"] != "Deployment":
        return False
    labels = each["spec"]["template"]["metadata"].get("labels", {})
    return all(labels.get(key) == value for key, value in selector.items())


def _config_file(container: dict) -> str:
    words = [*container.get("command", []), *container.get("args", [])]
    for word, following in zip(words, [*words[1:], ""]):
        if word.startswith(f"{FLAG}="):
            return word.partition("=")[2]
        if word == FLAG:
            return following
    return ""


def _config_source(pod: dict, container: dict) -> tuple[str, str]:
    """Name and key of the ConfigMap that the container finds its configuration file in."""
    path = PurePosixPath(_config_file(container))
    for mount in container.get("volumeMounts", []):
        target = PurePosixPath(mount["mountPath"])
        source = _volume(pod, mount["name"]).get("configMap")
        if not source or target not in (path, *path.parents):
            continue
        file = str(PurePosixPath(mount.get("subPath", "")) / path.relative_to(target))
        renamed = {item["path"]: item["key"] for item in source.get("items", [])}
        return source["name"], renamed.get(file, file)
    return "", ""


def _volume(pod: dict, name: str) -> dict:
    return next(each for each in pod.get("volumes", []) if each["name"] == name)


def _version(image: str) -> str:
    tag = re.search(r":v?(\d+\.\d+\.\d+[^@]*)", image)
    return tag[1] if tag else ""


def _owner(each: dict) -> str:
    """Who would undo a change by hand: the object's controller, or what the Operator Lifecycle Manager has marked it with."""
    metadata = each.get("metadata", {})
    for reference in metadata.get("ownerReferences", []):
        return f"{reference['kind']} {reference['name']}"
    labels = metadata.get("labels", {})
    if "olm.owner" in labels:
        return f"{labels.get('olm.owner.kind', 'operator')} {labels['olm.owner']}"
    for label in labels:
        if label.startswith(OPERATOR_LABEL_PREFIX):
            return f"operator {label.removeprefix(OPERATOR_LABEL_PREFIX)}"
    return ""


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"lws_controller": lws_controller}
