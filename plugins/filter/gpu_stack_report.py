# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_stack_report
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Say what keeps GPUs of a cluster from being given to pods
description:
  - Judges what the role C(nvidia_device_plugin) has read from a cluster. Every finding is reported, not only the first.
  - A node counts as a GPU node when a label of GPU Feature Discovery, Node Feature Discovery or the role says so, when
    O(wanted) names it, or when it advertises GPUs.
positional: _input, wanted
options:
  _input:
    description:
      - What was read. C(nodes), C(plugins) and C(add_ons) (DaemonSets), C(pods) and C(events) of the plugin's namespaces,
        C(runtime_classes), C(policies) (of a GPU Operator) and C(smoke) (pods) as C(kubernetes.core.k8s_info) returns them, and
        C(gpus), the nodes of M(kubegang.core.gpu_info).
    type: dict
    required: true
  wanted:
    description:
      - What should be there. C(provider), C(gpus) (by node), C(replicas), C(resource_names), C(image), C(runtime_class),
        C(runtime_handler).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Name what is wrong with the GPUs of this cluster
  ansible.builtin.debug:
    msg: "{{ (seen | kubegang.core.gpu_stack_report(wanted)).findings }}"
"""

RETURN = r"""
_value:
  description:
    - C(findings), each with C(id), C(object), C(expected), C(found), C(remedy) and C(text), which is all of them in a line.
    - C(nodes), by name the C(expected), C(capacity), C(allocatable) and C(free) GPUs of each GPU node, and C(resource), the
      one with most free GPUs.
    - C(gpu_resources), by name how many of each can be given to pods in the whole cluster.
  type: dict
"""

import typing as t
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase

from ansible_collections.kubegang.core.plugins.module_utils._capacity import tolerates

GPU = "nvidia.com/gpu"
PRESENCE_LABELS = (
    "nvidia.com/gpu.present",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
)
# Its controller gives each pod of a DaemonSet tolerations for these taints.
DAEMON_TAINTS = "node.kubernetes.io/"
RUNTIME_REMEDY = (
    "the nvidia container runtime does not start this pod: create RuntimeClass nvidia and name it in "
    "nvidia_device_plugin_runtime_class, and see that the container runtime on the node has its handler"
)
NAME_REMEDY = (
    "the plugin on this node has another configuration: look at its pod there and at the node's label "
    "nvidia.com/device-plugin.config"
)
COUNT_REMEDY = (
    "nvidia.com/gpu.count or nvidia_device_plugin_gpus is out of date, or sharing is configured otherwise on this node"
)
SMOKE_REMEDY = (
    "the GPU does not come into the container: look at the RuntimeClass, at CDI and at the container runtime's configuration "
    "on this node, and whether it can pull the image"
)


@dataclass(frozen=True)
class Finding:
    id: str
    object: str
    expected: str
    found: str
    remedy: str

    def told(self) -> dict[str, str]:
        text = f"{self.object}: expected {self.expected}, found {self.found}; {self.remedy}"
        return {**asdict(self), "text": text}


def gpu_stack_report(seen: dict, wanted: dict) -> dict:
    """The findings, and the numbers that they stand on."""
    gpus = {node["name"]: node for node in seen["gpus"]}
    nodes = [node for node in seen["nodes"] if _is_gpu_node(node, gpus, wanted)]
    counts = [_Count.of(node, gpus.get(node["metadata"]["name"]), wanted) for node in nodes]
    findings = [
        *_cluster_policies(seen["policies"]),
        *_runtime_class(seen, wanted),
        *_gpu_nodes(nodes),
        *_plugins(seen, nodes, wanted),
        *_add_ons(seen),
        *_conditions(nodes),
        *(finding for count in counts for finding in count.findings()),
        *_smoke(seen["smoke"]),
    ]
    return {
        "findings": [finding.told() for finding in findings],
        "nodes": {count.node: count.facts() for count in counts},
        "gpu_resources": _totals(counts),
    }


def _is_gpu_node(node: dict, gpus: dict, wanted: dict) -> bool:
    labels = node["metadata"].get("labels") or {}
    name = node["metadata"]["name"]
    advertised = any(each["capacity"] > 0 for each in gpus.get(name, {"resources": {}})["resources"].values())
    return name in wanted["gpus"] or advertised or any(labels.get(label) == "true" for label in PRESENCE_LABELS)


# The GPUs of each node


@dataclass(frozen=True)
class _Count:
    """What one GPU node advertises, against what it should."""

    node: str
    labels: dict
    resources: dict[str, dict[str, int]]  # by name, only those of which the node has some
    expected: int  # 0 where nothing says how many: then any number will do
    names: tuple[str, ...]  # patterns; empty where any name will do

    @classmethod
    def of(cls, node: dict, gpus: dict | None, wanted: dict) -> _Count:
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        resources = {each: told for each, told in (gpus or {"resources": {}})["resources"].items() if told["capacity"]}
        return cls(name, labels, resources, _expected(name, labels, resources, wanted), tuple(wanted["resource_names"]))

    @property
    def accepted(self) -> dict[str, dict[str, int]]:
        """What it advertises under the names that it should."""
        if not self.names:
            return self.resources
        return {
            name: told
            for name, told in self.resources.items()
            if any(fnmatchcase(name, pattern) for pattern in self.names)
        }

    def sum(self, field: str) -> int:
        return sum(told[field] for told in self.accepted.values())

    def facts(self) -> dict[str, t.Any]:
        free = {name: told["free"] for name, told in self.accepted.items()}
        return {
            "expected": self.expected,
            "capacity": self.sum("capacity"),
            "allocatable": self.sum("allocatable"),
            "free": sum(free.values()),
            "resource": max(free, key=lambda name: free[name], default=""),
        }

    def findings(self) -> Iterator[Finding]:
        # After a change of configuration the kubelet keeps the capacity of the former name for some minutes.
        strangers = sorted(
            name for name, told in self.resources.items() if name not in self.accepted and told["allocatable"]
        )
        if strangers:
            yield Finding(
                "gpu-resource", f"node {self.node}", " or ".join(self.names), ", ".join(strangers), NAME_REMEDY
            )
        capacity, allocatable = self.sum("capacity"), self.sum("allocatable")
        if not (capacity == allocatable and (capacity == self.expected if self.expected else capacity > 0)):
            names = " or ".join(self.names or sorted(self.resources) or [GPU])
            expected = f"{self.expected or '1 or more'} {names}"
            found = f"capacity {capacity}, allocatable {allocatable}"
            yield Finding(
                "gpu-count", f"node {self.node}", expected, found, _count_remedy(capacity, allocatable, self.expected)
            )


def _expected(name: str, labels: dict, resources: dict, wanted: dict) -> int:
    """How many devices this node should advertise: by the variables, or else by its labels."""
    count = int(wanted["gpus"].get(name) or 0)
    if not count and any(_is_mig(each) for each in resources):
        # The label of the GPUs counts boards; each kind of MIG device has a label of its own.
        return sum(_number(labels, f"{each}.count") * (_number(labels, f"{each}.replicas") or 1) for each in resources)
    count = count or _number(labels, f"{GPU}.count")
    return count * (_number(labels, f"{GPU}.replicas") or int(wanted["replicas"]))


def _is_mig(resource: str) -> bool:
    return resource.startswith("nvidia.com/mig-")


def _number(labels: dict, label: str) -> int:
    value = labels.get(label, "")
    return int(value) if value.isdigit() else 0


def _count_remedy(capacity: int, allocatable: int, expected: int) -> str:
    if not capacity:
        return "no plugin has registered with its kubelet: look at the plugin's pod on this node"
    if not allocatable:
        return "the plugin is gone, of which the kubelet keeps the capacity: look at the plugin's pod on this node"
    if allocatable < capacity:
        return f"{capacity - allocatable} unhealthy: look for Xid events in the node's kernel log, then reset or replace the GPU"
    if capacity < expected:
        return "GPUs are lost: compare nvidia-smi -L and lspci on the node, then start the plugin's pod there anew"
    return COUNT_REMEDY


def _totals(counts: list[_Count]) -> dict[str, int]:
    names = sorted({name for count in counts for name in count.resources})
    return {
        name: sum(count.resources.get(name, {"allocatable": 0})["allocatable"] for count in counts) for name in names
    }


# What makes nodes advertise them


def _cluster_policies(policies: list[dict]) -> Iterator[Finding]:
    for policy in policies:
        status = policy.get("status") or {}
        if status.get("state") != "ready":
            conditions = [
                each for each in status.get("conditions") or [] if each.get("message") and each["status"] != "False"
            ]
            said = "".join(f" ({each['message']})" for each in conditions[:1])
            remedy = "look at the operator's pods that are not ready, and at its log"
            yield Finding(
                "cluster-policy",
                f"ClusterPolicy {policy['metadata']['name']}",
                "state ready",
                f"state {status.get('state', 'unknown')}{said}",
                remedy,
            )


def _runtime_class(seen: dict, wanted: dict) -> Iterator[Finding]:
    handlers = {each["metadata"]["name"]: each["handler"] for each in seen["runtime_classes"]}
    named = {_pod_spec(plugin).get("runtimeClassName") for plugin in seen["plugins"]}
    for name in sorted(filter(None, named | {wanted["runtime_class"]})):
        expected = (
            f"handler {wanted['runtime_handler']}" if name == wanted["runtime_class"] else "a RuntimeClass of this name"
        )
        found = f"handler {handlers[name]}" if name in handlers else "none"
        if found == "none" or expected not in (found, "a RuntimeClass of this name"):
            remedy = "no pod of this class starts as it should: create it anew with the handler of the nvidia runtime"
            yield Finding("runtime-class", f"RuntimeClass {name}", expected, found, remedy)


def _gpu_nodes(nodes: list[dict]) -> Iterator[Finding]:
    if not nodes:
        remedy = (
            "let Node Feature Discovery find them, or name them in nvidia_device_plugin_label_nodes; "
            "a plugin on 0 of 0 nodes proves nothing"
        )
        yield Finding("gpu-nodes", "cluster", "nodes with GPUs", "none", remedy)


def _plugins(seen: dict, nodes: list[dict], wanted: dict) -> Iterator[Finding]:
    plugins = seen["plugins"]
    if not plugins and wanted["provider"] != "existing":
        yield Finding(
            "plugin",
            "cluster",
            "a DaemonSet of the device plugin",
            "none",
            "run the role with nvidia_device_plugin_state present",
        )
    if len(plugins) > 1:
        remedy = "two plugins register the same resource and take it from each other: remove one"
        yield Finding("plugin", "cluster", "one device plugin", ", ".join(map(_title, plugins)), remedy)
    for plugin in plugins:
        yield from _version(plugin, wanted)
        yield from _coverage(plugin, nodes)
        yield from _readiness(plugin, seen)


def _version(plugin: dict, wanted: dict) -> Iterator[Finding]:
    images = [container["image"] for container in _pod_spec(plugin).get("containers") or []]
    if wanted["image"] and wanted["image"] not in images:
        remedy = "run the role: it upgrades the plugin"
        yield Finding("plugin-version", _title(plugin), wanted["image"], ", ".join(images), remedy)


def _coverage(plugin: dict, nodes: list[dict]) -> Iterator[Finding]:
    """GPU nodes that the DaemonSet does not reach, each with the reason."""
    reasons = {node["metadata"]["name"]: _out_of_reach(node, _pod_spec(plugin)) for node in nodes}
    for name, (found, remedy) in ((name, reason) for name, reason in reasons.items() if reason):
        yield Finding("plugin-reach", f"node {name}", f"a pod of {_title(plugin)}", found, remedy)
    desired = (plugin.get("status") or {}).get("desiredNumberScheduled", 0)
    if desired < len(nodes) and not any(reasons.values()):
        remedy = f"look why its controller leaves out some of {', '.join(reasons)}"
        yield Finding("plugin-reach", _title(plugin), f"pods on {len(nodes)} GPU nodes", f"pods on {desired}", remedy)


def _out_of_reach(node: dict, spec: dict) -> tuple[str, str] | None:
    for taint in (node.get("spec") or {}).get("taints") or []:
        if taint["effect"] == "PreferNoSchedule" or taint["key"].startswith(DAEMON_TAINTS):
            continue
        if not any(tolerates(toleration, taint) for toleration in spec.get("tolerations") or []):
            told = f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
            return (
                f"taint {told}, which its pods do not tolerate",
                "add it to nvidia_device_plugin_tolerations, or remove it from the node",
            )
    labels = node["metadata"].get("labels") or {}
    selector = spec.get("nodeSelector") or {}
    missing = [f"{key}={value}" for key, value in selector.items() if labels.get(key) != value]
    if missing:
        return f"no label {', '.join(missing)}, which its pods select", "label the node"
    terms = _required_terms(spec)
    if terms and not any(_matches(term, node) for term in terms):
        wanted = " or ".join(sorted({each["key"] for term in terms for each in term.get("matchExpressions") or []}))
        return (
            f"labels that its pods' affinity does not select (it wants {wanted})",
            "name the node in nvidia_device_plugin_label_nodes",
        )
    return None


def _required_terms(spec: dict) -> list[dict]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or []


def _matches(term: dict, node: dict) -> bool:
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    rules = [(each, labels) for each in term.get("matchExpressions") or []]
    rules += [(each, fields) for each in term.get("matchFields") or []]
    return bool(rules) and all(
        OPERATORS[rule["operator"]](of.get(rule["key"]), rule.get("values") or []) for rule, of in rules
    )


OPERATORS: dict[str, t.Callable[[str | None, list], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _values: value is not None,
    "DoesNotExist": lambda value, _values: value is None,
    "Gt": lambda value, values: value is not None and int(value) > int(values[0]),
    "Lt": lambda value, values: value is not None and int(value) < int(values[0]),
}


def _readiness(plugin: dict, seen: dict) -> Iterator[Finding]:
    """Pods of the DaemonSet that are not ready, each with the reason, or the DaemonSet where it has none."""
    status = plugin.get("status") or {}
    desired, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
    if ready >= desired:
        return
    pods = [pod for pod in seen["pods"] if _belongs(pod, plugin) and not _is_ready(pod)]
    for pod in pods:
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        on = f" on node {pod['spec']['nodeName']}" if pod["spec"].get("nodeName") else ""
        found = _why_not_ready(pod, seen["events"])
        yield Finding("plugin-pod", f"pod {name}{on}", "ready", found, _pod_remedy(plugin, seen, found))
    if not pods:
        said = "".join(f" ({message})" for message in _warnings(plugin, seen["events"])[:1])
        yield Finding(
            "plugin-pod", _title(plugin), f"{desired} ready pods", f"{ready}{said}", _pod_remedy(plugin, seen, said)
        )


def _pod_remedy(plugin: dict, seen: dict, found: str) -> str:
    known = {each["metadata"]["name"] for each in seen["runtime_classes"]}
    if _pod_spec(plugin).get("runtimeClassName") not in known or "no runtime for" in found:
        return RUNTIME_REMEDY
    return "look at the log of this pod, and at nvidia-smi on its node"


def _belongs(pod: dict, plugin: dict) -> bool:
    if pod["metadata"]["namespace"] != plugin["metadata"]["namespace"]:
        return False
    name, owners = plugin["metadata"]["name"], pod["metadata"].get("ownerReferences")
    if owners:
        return any(owner["kind"] == "DaemonSet" and owner["name"] == name for owner in owners)
    return pod["metadata"]["name"].rpartition("-")[0] == name


def _is_ready(pod: dict) -> bool:
    containers = pod["status"].get("containerStatuses") or []
    return bool(containers) and all(each["ready"] for each in containers)


def _why_not_ready(pod: dict, events: list[dict]) -> str:
    """What its containers say, and where none has said anything what its events say."""
    status = pod["status"]
    for each in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        waiting = (each.get("state") or {}).get("waiting") or {}
        ended = (each.get("state") or {}).get("terminated") or (each.get("lastState") or {}).get("terminated") or {}
        if (
            each["ready"]
            or (ended.get("exitCode") == 0 and not waiting)
            or waiting.get("reason") in ("ContainerCreating", "PodInitializing")
        ):
            continue
        words = [
            waiting.get("reason", ""),
            f"exit code {ended['exitCode']}" if "exitCode" in ended else "",
            (ended.get("message") or waiting.get("message") or "").strip(),
        ]
        if any(words):
            return ": ".join([f"container {each['name']}", *filter(None, words)])
    return "; ".join([status.get("phase", "unknown"), *_warnings(pod, events)[:1]])


def _warnings(about: dict, events: list[dict]) -> list[str]:
    """Messages of its Warning events, the newest first."""
    own = [event for event in events if event["involvedObject"].get("name") == about["metadata"]["name"]]
    return [event["message"] for event in sorted(own, key=lambda event: str(event.get("lastTimestamp")), reverse=True)]


def _add_ons(seen: dict) -> Iterator[Finding]:
    for add_on in seen["add_ons"]:
        status = add_on.get("status") or {}
        desired, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
        if not desired or ready < desired:
            yield Finding(
                "add-on",
                _title(add_on),
                f"{desired or '1 or more'} ready pods",
                str(ready),
                "look at its pods and at their log",
            )


def _conditions(nodes: list[dict]) -> Iterator[Finding]:
    for node in nodes:
        ready = [each for each in node["status"].get("conditions") or [] if each["type"] == "Ready"]
        if ready and ready[0]["status"] != "True":
            remedy = "the node's kubelet does not report: look at the node"
            yield Finding(
                "node", f"node {node['metadata']['name']}", "Ready", ready[0].get("message") or "not ready", remedy
            )


def _smoke(pods: list[dict]) -> Iterator[Finding]:
    """Pods that got one GPU: each should have ended well, and have seen one."""
    for pod in pods:
        node, status = pod["metadata"]["annotations"]["kubegang.dev/node"], pod["status"]
        ended = [(each.get("state") or {}).get("terminated") or {} for each in status.get("containerStatuses") or []]
        saw = (ended[0].get("message") or "").strip() if ended else ""
        if status.get("phase") == "Succeeded" and saw == "1":
            continue
        yield Finding("smoke", f"node {node}", "a pod with one GPU that sees 1", _why_blind(status, saw), SMOKE_REMEDY)


def _why_blind(status: dict, saw: str) -> str:
    phase = status.get("phase", "unknown")
    if phase == "Succeeded":
        return f"{saw or 'nothing'} in it"
    conditions = [
        each["message"] for each in status.get("conditions") or [] if each["status"] == "False" and each.get("message")
    ]
    return ": ".join(filter(None, [phase, status.get("message") or "".join(conditions[:1]) or saw]))


def _pod_spec(plugin: dict) -> dict:
    return ((plugin.get("spec") or {}).get("template") or {}).get("spec") or {}


def _title(daemonset: dict) -> str:
    return f"DaemonSet {daemonset['metadata']['namespace']}/{daemonset['metadata']['name']}"


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"gpu_stack_report": gpu_stack_report}
