# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: unready
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Say which wanted Deployments, DaemonSets, webhooks and CustomResourceDefinitions are missing or not ready
description:
  - Judges objects as C(kubernetes.core.k8s_info) returns them, against what should be there.
  - A Deployment is ready when its controller has seen the current generation and all replicas are updated and
    available, so that pods of an older generation do not count, and a DaemonSet likewise, with a ready pod on each node
    that it is meant for. A CustomResourceDefinition is ready when Established, a webhook configuration when each webhook
    knows the certificate authority of its server.
positional: _input, wanted
options:
  _input:
    description: The objects that were found.
    type: list
    elements: dict
    required: true
  wanted:
    description: What should be there, each with its kind and metadata, such as the manifest of a Helm release.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Require that every Deployment of a Helm release runs its current generation
  ansible.builtin.assert:
    that: found.resources | kubegang.core.unready(deployments) | length == 0
    fail_msg: "{{ found.resources | kubegang.core.unready(deployments) | join('; ') }}"
  vars:
    deployments: "{{ release.status.manifest | selectattr('kind', 'equalto', 'Deployment') }}"
"""

RETURN = r"""
_value:
  description: One sentence for each object that is missing or not ready, empty when all is well.
  type: list
  elements: str
"""

from ansible.errors import AnsibleFilterError


def unready(found: list[dict], wanted: list[dict]) -> list[str]:
    """Name the wanted objects that are absent or not ready, and why."""
    live = {_identity(each): each for each in found}
    reasons = ((each, _reason(each["kind"], live.get(_identity(each)))) for each in wanted)
    return [f"{_title(each)}: {reason}" for each, reason in reasons if reason]


def _identity(each: dict) -> tuple:
    return each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]


def _title(each: dict) -> str:
    return f"{each['kind']} {'/'.join(part for part in _identity(each)[1:] if part)}"


def _reason(kind: str, live: dict | None) -> str | None:
    if kind not in JUDGES:
        raise AnsibleFilterError(f"unready: cannot judge kind {kind!r}, known are {', '.join(sorted(JUDGES))}")
    return JUDGES[kind](live) if live else "not found"


def _deployment(live: dict) -> str | None:
    status = live.get("status") or {}
    replicas = live["spec"].get("replicas", 1)
    if status.get("observedGeneration", 0) < live["metadata"]["generation"]:
        return f"generation {live['metadata']['generation']} not yet seen by its controller"
    for counter in ("updatedReplicas", "availableReplicas"):
        if status.get(counter, 0) < replicas:
            return f"{status.get(counter, 0)} of {replicas} replicas {counter.removesuffix('Replicas')}"
    if status.get("replicas", 0) > replicas:
        return f"{status['replicas'] - replicas} replicas of an older generation are left"
    return None


def _daemon_set(live: dict) -> str | None:
    status = live.get("status") or {}
    desired = status.get("desiredNumberScheduled", 0)
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return f"generation {live['metadata']['generation']} not yet seen by its controller"
    for counter, meaning in {"updatedNumberScheduled": "updated", "numberReady": "ready"}.items():
        if status.get(counter, 0) < desired:
            return f"{status.get(counter, 0)} of {desired} pods {meaning}"
    return None


def _custom_resource_definition(live: dict) -> str | None:
    conditions = {each["type"]: each for each in (live.get("status") or {}).get("conditions") or []}
    if conditions.get("Established", {}).get("status") == "True":
        return None
    refusals = [each.get("message") or each.get("reason") for each in conditions.values() if each["status"] == "False"]
    return ": ".join(["not Established", *filter(None, refusals)])


def _webhook_configuration(live: dict) -> str | None:
    hooks = [each["name"] for each in live.get("webhooks") or [] if not each["clientConfig"].get("caBundle")]
    return f"no caBundle for {', '.join(hooks)}" if hooks else None


JUDGES = {
    "CustomResourceDefinition": _custom_resource_definition,
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "MutatingWebhookConfiguration": _webhook_configuration,
    "ValidatingWebhookConfiguration": _webhook_configuration,
}


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"unready": unready}
