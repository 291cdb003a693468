# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: lws_manifest
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Give the objects of an upstream LeaderWorkerSet manifest the wanted gang scheduler
description:
  - Puts the gang scheduler into the controller's configuration and leaves the rest of it as it is.
  - Puts the configuration's checksum on the controller's pods, so that a changed configuration makes new pods.
  - Labels every object with C(app.kubernetes.io/managed-by=kubegang), by which a later run knows its own.
positional: _input, scheduler
options:
  _input:
    description: The objects.
    type: list
    elements: dict
    required: true
  scheduler:
    description: Name of the gang scheduler. Empty means none.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Install from the manifest of a release
  kubernetes.core.k8s:
    definition: "{{ text | from_yaml_all | select | kubegang.core.lws_manifest('volcano') }}"
  vars:
    text: "{{ lookup('ansible.builtin.file', 'manifests.yaml') }}"
"""

RETURN = r"""
_value:
  description: The objects in the same order.
  type: list
  elements: dict
"""

import hashlib
from copy import deepcopy

import yaml
from ansible_collections.kubegang.core.plugins.filter.lws_configuration import lws_configuration

API_GROUP = "config.lws.x-k8s.io/"


def lws_manifest(objects: list[dict], scheduler: str) -> list[dict]:
    """The objects with the gang scheduler in the configuration, and a mark on each."""
    objects = [deepcopy(dict(each)) for each in objects]
    checksum = hashlib.sha256()
    for each in objects:
        each["metadata"].setdefault("labels", {})["app.kubernetes.io/managed-by"] = "kubegang"
        if each["kind"] == "ConfigMap":
            each["data"] = {key: _configured(text, scheduler) for key, text in each.get("data", {}).items()}
            checksum.update(repr(sorted(each["data"].items())).encode())
    for each in objects:
        if each["kind"] == "Deployment":
            metadata = each["spec"]["template"].setdefault("metadata", {})
            metadata.setdefault("annotations", {})["kubegang.dev/configuration"] = checksum.hexdigest()
    return objects


def _configured(text: str, scheduler: str) -> str:
    document = yaml.safe_load(text)
    is_ours = isinstance(document, dict) and str(document.get("apiVersion")).startswith(API_GROUP)
    return lws_configuration(text, scheduler) if is_ours else text


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"lws_manifest": lws_manifest}
