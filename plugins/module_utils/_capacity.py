# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""Room for pods on nodes and in queues, in numbers. Pure."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal

from ansible_collections.kubegang.core.plugins.module_utils._change import Object
from ansible_collections.kubegang.core.plugins.module_utils._cluster import quantity
from ansible_collections.kubegang.core.plugins.module_utils._errors import counted

Amounts = dict[str, Decimal]

# Field selector of the pods that take room on nodes.
UNFINISHED_AND_BOUND = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="


@dataclass(frozen=True)
class Load:
    """Equal pods that still want a node: what each requests, where it may run, and how many there are."""

    spec: Object
    each: Amounts
    count: int


def requests(spec: Object) -> Amounts:
    """What a pod with this spec takes of a node: its containers and sidecars, or more for an init container."""
    steady: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("containers") or ():
        add(steady, _container_requests(container), 1)
    for container in spec.get("initContainers") or ():
        own = _container_requests(container)
        if is_sidecar(container):
            add(steady, own, 1)
        else:
            peak = {name: max(peak.get(name, Decimal(0)), own.get(name, Decimal(0))) for name in {*peak, *own}}
    total = {name: max(steady.get(name, Decimal(0)), peak.get(name, Decimal(0))) for name in {*steady, *peak}}
    add(total, amounts(spec.get("overhead")), 1)
    return total


def is_sidecar(init_container: Object) -> bool:
    """Whether it runs beside the pod's containers instead of before them."""
    return init_container.get("restartPolicy") == "Always"


def _container_requests(container: Object) -> Amounts:
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def amounts(resources: t.Mapping[str, t.Any] | None) -> Amounts:
    """A ResourceList (core/v1) in numbers."""
    return {name: quantity(value) for name, value in (resources or {}).items()}


def add(total: Amounts, more: Amounts, times: int) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount * times


def shortage(load: Load, nodes: t.Sequence[Object], used: t.Mapping[str, Amounts]) -> list[str]:
    """What these pods want against what is free on the nodes that would take them; nothing when they fit.

    Args:
        used: what the pods on each node request.
    """
    offering = [node for node in nodes if _offers(node, load.each)]
    if not offering:
        return list(_too_large(load, nodes)) or ["no node has all that one of its pods requests"]
    taking = [node for node in offering if not obstacle(node, load.spec)]
    if not taking:
        return [_nowhere(load, offering)]
    left = {node["metadata"]["name"]: free(node, used) for node in taking}
    return list(_short(load, left)) or list(_crowded(load, left))


def _offers(node: Object, wanted: Amounts) -> bool:
    """Whether a node, empty, would have enough of everything for one pod."""
    has = _allocatable(node)
    return all(has.get(name, Decimal(0)) >= amount for name, amount in wanted.items())


def _too_large(load: Load, nodes: t.Sequence[Object]) -> t.Iterator[str]:
    """Of which resource no node has enough even for one pod."""
    for name, each in _scarce_first(load.each):
        most = max((_allocatable(node).get(name, Decimal(0)) for node in nodes), default=Decimal(0))
        if most < each:
            wanted = (
                f"{_plain(name, each * load.count)} {name} ({counted(load.count, 'pod')}, {_plain(name, each)} each)"
            )
            yield f"needs {wanted}, no node has more than {_plain(name, most)}{_other_names(name, nodes)}"


def _other_names(name: str, nodes: t.Sequence[Object]) -> str:
    """Under which other names nodes offer what nobody offers under this one: sharing and MIG rename GPUs."""
    domain = name.partition("/")[0]
    offered = {other for node in nodes for other, amount in _allocatable(node).items() if amount > 0}
    others = sorted(other for other in offered if other.startswith(f"{domain}/"))
    return f"; nodes offer {', '.join(others)}" if "/" in name and others and name not in offered else ""


def _allocatable(node: Object) -> Amounts:
    return amounts(node["status"].get("allocatable"))


def free(node: Object, used: t.Mapping[str, Amounts]) -> Amounts:
    """What is left on a node when its pods have what they request."""
    left = _allocatable(node)
    add(left, used.get(node["metadata"]["name"], {}), -1)
    return left


def used_by_node(pods: t.Iterable[Object]) -> dict[str, Amounts]:
    """What pods that are ``UNFINISHED_AND_BOUND`` request, by the name of their node."""
    used: dict[str, Amounts] = {}
    for pod in pods:
        add(used.setdefault(pod["spec"]["nodeName"], {}), requests(pod["spec"]), 1)
    return used


def _short(load: Load, left_on: t.Mapping[str, Amounts]) -> t.Iterator[str]:
    """Resources of which the nodes together, or the roomiest of them, have too little."""
    for name, each in _scarce_first(load.each):
        left = {node: max(Decimal(0), have.get(name, Decimal(0))) for node, have in left_on.items()}
        roomiest = max(left, key=lambda node: left[node])
        wanted = each * load.count
        if wanted > sum(left.values()):
            per_pod = f" ({counted(load.count, 'pod')}, {_plain(name, each)} each)" if load.count > 1 else ""
            all_left = _plain(name, sum(left.values(), Decimal(0)))
            yield f"needs {_plain(name, wanted)} {name}{per_pod}, {all_left} free on {counted(len(left), 'node')}"
        elif each > left[roomiest]:
            most = _plain(name, left[roomiest])
            yield f"needs {_plain(name, each)} {name} per pod, largest free {most} on {roomiest}"


def _crowded(load: Load, left_on: t.Mapping[str, Amounts]) -> t.Iterator[str]:
    """Enough in all, yet in the wrong pieces: how many of the pods find a node."""
    wanted = {name: each for name, each in load.each.items() if each > 0}
    room = 0
    for left in left_on.values():
        fits = [int(max(Decimal(0), left.get(name, Decimal(0))) // each) for name, each in wanted.items()]
        room += min(fits, default=load.count)
    if room < load.count:
        each = ", ".join(f"{_plain(name, amount)} {name}" for name, amount in _scarce_first(wanted))
        yield f"room for {room} of {counted(load.count, 'pod')} on {counted(len(left_on), 'node')} ({each} each)"


def _nowhere(load: Load, offering: t.Sequence[Object]) -> str:
    why = Counter(obstacle(node, load.spec) for node in offering)
    told = ", ".join(f"{count} {text}" for text, count in why.most_common())
    return f"no node takes {counted(load.count, 'pod')} of it: {told}"


def obstacle(node: Object, spec: Object) -> str:
    """Why a node would not take a pod however empty it is; empty when it would."""
    if node["spec"].get("unschedulable"):
        return "cordoned"
    ready = [
        condition["status"] for condition in node["status"].get("conditions") or () if condition["type"] == "Ready"
    ]
    if ready and ready != ["True"]:
        return "not ready"
    labels = node["metadata"].get("labels") or {}
    for key, value in (spec.get("nodeSelector") or {}).items():
        if labels.get(key) != value:
            return f"without label {key}={value}"
    for taint in node["spec"].get("taints") or ():
        tolerated = any(tolerates(toleration, taint) for toleration in spec.get("tolerations") or ())
        if taint["effect"] != "PreferNoSchedule" and not tolerated:
            return f"with taint {taint['key']}"
    return ""


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether this one toleration lets a pod onto a node with this taint."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", "")


def limits(loads: t.Iterable[Load], name: str, queues: t.Mapping[str, Object | None]) -> t.Iterator[str]:
    """Queues, from the named one up to the root, whose capability is too small for these pods."""
    wanted: Amounts = {}
    for load in loads:
        add(wanted, load.each, load.count)
    while name:
        queue = queues.get(name) or {}
        spec, status = queue.get("spec", {}), queue.get("status", {})
        most, now = amounts(spec.get("capability")), amounts(status.get("allocated"))
        for resource in sorted(most.keys() & wanted.keys()):
            in_use = now.get(resource, Decimal(0))
            if in_use + wanted[resource] > most[resource]:
                may, uses, wants = (_plain(resource, amount) for amount in (most[resource], in_use, wanted[resource]))
                yield f"queue {name} may use {may} {resource} and uses {uses}, the gang wants {wants}"
        name = spec.get("parent", "")


def _scarce_first(amounts: Amounts) -> list[tuple[str, Decimal]]:
    """Extended resources, which are GPUs and the like, before cpu and memory."""
    return sorted(amounts.items(), key=lambda item: ("/" not in item[0], item[0]))


def _plain(resource: str, amount: Decimal) -> str:
    """An amount for people: bytes in binary units, everything else as a plain number."""
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        for unit, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20)):
            if amount >= size:
                return f"{amount / size:.4g}{unit}"
    return f"{amount.normalize():f}"
