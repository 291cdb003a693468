# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""Why a gang does not run, in one short message.

``gather`` reads everything that can hold a reason (whole pods, nodes and what is used on them, queues, schedulers,
events), once, when there is something to explain. ``explain`` and ``refusals`` are pure.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.kubegang.core.plugins.module_utils._capacity import (
    UNFINISHED_AND_BOUND,
    Amounts,
    Load,
    is_sidecar,
    limits,
    requests,
    shortage,
    used_by_node,
)
from ansible_collections.kubegang.core.plugins.module_utils._change import Object
from ansible_collections.kubegang.core.plugins.module_utils._cluster import (
    EVENT,
    NODE,
    POD,
    QUEUE,
    Cluster,
)
from ansible_collections.kubegang.core.plugins.module_utils._errors import ApiError, some
from ansible_collections.kubegang.core.plugins.module_utils._gang import (
    Gang,
    Member,
    Snapshot,
    dig,
)
from ansible_collections.kubegang.core.plugins.module_utils._lws import EXCLUSIVE_ANNOTATION
from ansible_collections.kubegang.core.plugins.module_utils._lws_controller import missing_rights
from ansible_collections.kubegang.core.plugins.module_utils._volcano import queue_state

_DEFAULT_SCHEDULER = "default-scheduler"
_SCHEDULER_PODS = "app=volcano-scheduler"  # as Volcano's own chart and manifest label them
_SCHEDULER_FLAG = "--scheduler-name="
# A reason that many members share is told once; further reasons than this are only counted.
_REASONS_SHOWN = 3
_LONGEST_QUOTE = 200
# FailedMount, FailedCreate, PodGroupError; not FailedScheduling, which conditions tell better.
_FAILED = re.compile(r"^Failed(?!Scheduling)|Error$")


@dataclass(frozen=True)
class Gatekeepers:
    """Who decides whether a gang may start.

    Attributes:
        queues: each queue that a gang names and its ancestors; None for one that does not exist.
        schedulers: the schedulerNames that Volcano's schedulers serve; empty when no scheduler was seen.
    """

    queues: t.Mapping[str, Object | None] = field(default_factory=dict)
    schedulers: t.Collection[str] = ()


@dataclass(frozen=True)
class Evidence:
    """What the server knows about gangs that do not run.

    Attributes:
        pods: whole pods, by name.
        nodes: whole nodes; None when these credentials may not read them.
        used: what unfinished pods request on each node; None when these credentials may not see all pods.
        events: warnings of the namespace.
        podgroup_rights: what LWS's controller may not do with PodGroups, in words; empty when all is well.
        unread: what could not be read, in words.
    """

    gatekeepers: Gatekeepers = field(default_factory=Gatekeepers)
    pods: t.Mapping[str, Object] = field(default_factory=dict)
    nodes: t.Sequence[Object] | None = None
    used: t.Mapping[str, Amounts] | None = None
    events: t.Sequence[Object] = ()
    podgroup_rights: str = ""
    unread: t.Sequence[str] = ()


# --- reading ---------------------------------------------------------------------------------------------------------


def queues_of(cluster: Cluster, gangs: t.Iterable[Gang]) -> dict[str, Object | None]:
    """The queues of these gangs, and their ancestors, whose limits bind as well; without those not ours to see."""
    queues: dict[str, Object | None] = {}
    names = {gang.queue for gang in gangs} - {""}
    while names:
        name = names.pop()
        try:
            queues[name] = cluster.get(QUEUE, name)
        except ApiError as error:
            if error.status != 403:
                raise
            continue
        names |= {dig(queues[name], "spec", "parent", default="")} - {"", *queues}
    return queues


def schedulers_of(cluster: Cluster) -> frozenset[str]:
    """The schedulerNames that Volcano's schedulers here serve; none when their pods are not ours to see."""
    try:
        pods = cluster.list(POD, labels=_SCHEDULER_PODS)
    except ApiError as error:
        if error.status != 403:
            raise
        return frozenset()
    names: set[str] = set()
    for container in (container for pod in pods for container in pod["spec"]["containers"]):
        words = (container.get("command") or []) + (container.get("args") or [])
        given = [word[len(_SCHEDULER_FLAG) :] for word in words if word.startswith(_SCHEDULER_FLAG)]
        names.update(given or ["volcano"])
    return frozenset(names)


def pods_of(cluster: Cluster, snapshot: Snapshot) -> dict[str, Object]:
    """The pods of a snapshot's gangs as whole objects, by name."""
    target = snapshot.target
    known = {member.name for gang in snapshot.gangs for member in gang.members}
    pods = cluster.list(POD, target.namespace, labels=target.pods) if known else []
    return {pod["metadata"]["name"]: pod for pod in pods if pod["metadata"]["name"] in known}


def gather(cluster: Cluster, snapshot: Snapshot) -> Evidence:
    """Everything that may hold a reason. What cannot be read is noted: it must not hide the failure at hand."""
    unread: list[str] = []

    def ask(question: t.Callable[[], t.Any], otherwise: t.Any) -> t.Any:
        try:
            return question()
        except ApiError as error:
            unread.append(error.message)
            return otherwise

    namespace = snapshot.target.namespace
    waiting = [gang for gang in snapshot.gangs if not (gang.whole or gang.finished or gang.dead)]
    unbound = any(gang.bound < gang.needed for gang in waiting)
    return Evidence(
        Gatekeepers(
            ask(lambda: queues_of(cluster, waiting), {}),
            ask(lambda: schedulers_of(cluster), frozenset()) if unbound else frozenset(),
        ),
        pods=ask(lambda: pods_of(cluster, snapshot), {}),
        nodes=ask(lambda: cluster.list(NODE), None) if unbound else None,
        used=ask(lambda: used_by_node(cluster.list(POD, fields=UNFINISHED_AND_BOUND)), None) if unbound else None,
        events=ask(lambda: cluster.list(EVENT, namespace, fields="type=Warning"), ()) if waiting else (),
        podgroup_rights=ask(lambda: missing_rights(cluster), "") if any(map(_podgroup_missing, waiting)) else "",
        unread=unread,
    )


def _podgroup_missing(gang: Gang) -> bool:
    """Whether LWS should have made a PodGroup and has not: its pods name one, or there is no pod that could tell."""
    return gang.kind == "LeaderWorkerSet" and gang.podgroup is None and bool(gang.group_name or not gang.members)


# --- explaining, pure ------------------------------------------------------------------------------------------------


def explain(gang: Gang, evidence: Evidence) -> list[str]:
    """Why this gang, or a member beyond those that it needs, does not run; nothing when all is well."""
    if gang.finished:
        return []
    members = list(_members(gang, evidence))
    if gang.dead or gang.whole:
        return members
    rights = [evidence.podgroup_rights] if evidence.podgroup_rights and _podgroup_missing(gang) else []
    reasons = [*_standing(gang), *rights, *refusals(gang, evidence.gatekeepers), *_absent(gang, evidence), *members]
    if gang.bound < gang.needed:
        reasons += [*_shortage(gang, evidence), *_queue(gang, evidence.gatekeepers)]
    return reasons


def refusals(gang: Gang, gatekeepers: Gatekeepers) -> list[str]:
    """What no waiting will change for a gang without a node: a closed queue, a scheduler that nobody runs."""
    if gang.bound:
        return []
    queue = gatekeepers.queues.get(gang.queue, {})
    refused = unserved(gang, gatekeepers.schedulers)
    if queue is None:
        refused.append(f"queue {gang.queue} does not exist")
    elif queue_state(queue) in ("Closed", "Closing"):
        refused.append(f"queue {gang.queue} is {queue_state(queue)}")
    return refused


def unserved(gang: Gang, schedulers: t.Collection[str]) -> list[str]:
    """That the gang asks for a scheduler other than those seen and Kubernetes' own; nothing where none was seen."""
    strangers = scheduler_names(gang) - set(schedulers) - {_DEFAULT_SCHEDULER}
    if not schedulers or not strangers:
        return []
    names, served = ", ".join(sorted(strangers)), ", ".join(sorted(schedulers))
    return [f"no scheduler serves schedulerName {names} (Volcano serves {served})"]


def scheduler_names(gang: Gang) -> set[str]:
    """The schedulers that the workload's pods ask for; none when the workload is not known."""
    spec = dig(gang.owner, "spec", default={})
    if gang.kind == "Job":
        own = spec.get("schedulerName", "volcano")
        return {dig(task, "template", "spec", "schedulerName", default=own) for task in spec.get("tasks", ())} or {own}
    return {dig(spec, "schedulerName", default=_DEFAULT_SCHEDULER) for _task, spec, _count in _lws_templates(gang)}


def _standing(gang: Gang) -> t.Iterator[str]:
    """What the workload and its PodGroup say of themselves."""
    if gang.job_phase and gang.job_phase != "Running":
        yield f"Job is {gang.job_phase}"
    if gang.podgroup is None:
        yield "it has no PodGroup" if gang.members else "it has neither PodGroup nor pods"
    elif not gang.phase:
        yield "its PodGroup has not been picked up by a scheduler"
    elif gang.bound < gang.needed:
        why = _unschedulable(dig(gang.podgroup, "status", "conditions", default=()))
        yield f"PodGroup is {gang.phase}{f' ({why})' if why else ''}"
    if gang.kind == "LeaderWorkerSet" and not gang.members:
        yield f"its leader pod {gang.name} does not exist"
    if _DEFAULT_SCHEDULER in scheduler_names(gang):
        yield f"its pods ask for schedulerName {_DEFAULT_SCHEDULER}, so that Volcano does not start them together"


def _unschedulable(conditions: t.Iterable[Object]) -> str:
    """The reason in the newest condition. All conditions of a PodGroup are True and never cleared."""
    last = max(conditions, key=lambda condition: condition.get("lastTransitionTime") or "", default={})
    return last.get("reason", "") if last.get("type") == "Unschedulable" else ""


def _absent(gang: Gang, evidence: Evidence) -> t.Iterator[str]:
    """Pods that should exist and do not."""
    present = len(gang.members)
    if present >= gang.needed:
        return
    yield f"{present} of {gang.needed} pods exist"
    for task in dig(gang.owner, "spec", "tasks", default=()):
        waits_for = dig(task, "dependsOn", "name", default=())
        if waits_for and not gang.tasks[task["name"]]["pods"]:
            yield f"task {task['name']} has no pod before its dependsOn {', '.join(waits_for)} is reached"
    if gang.members and dig(gang.owner, "spec", "startupPolicy") == "LeaderReady":
        yield "its workers are made once the leader is ready (startupPolicy LeaderReady)"
    elif (
        dig(gang.owner, "metadata", "annotations", EXCLUSIVE_ANNOTATION) and gang.podgroup and gang.min_member > present
    ):
        yield "its workers are made once the leader has a node (exclusive topology), which the gang gives it once they exist"
    # An LWS group's leader and the StatefulSet of its workers bear the gang's own name.
    warning = _warning(evidence.events, {gang.name, gang.workload})
    if warning:
        yield warning


def _warning(events: t.Iterable[Object], names: t.Collection[str]) -> str:
    """The latest warning that something failed for one of these objects, its scheduling apart."""
    telling = [
        event
        for event in events
        if dig(event, "involvedObject", "name") in names and _FAILED.search(event.get("reason") or "")
    ]
    if not telling:
        return ""
    last = max(telling, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "")
    return f"event {last['reason']}: {_quote(last.get('message'))}"


def _members(gang: Gang, evidence: Evidence) -> t.Iterator[str]:
    """Members by their reason: a few names, the number of the rest, and the reason once."""
    by_reason: dict[str, list[str]] = {}
    for member in gang.members:
        reason = member_reason(member, evidence)
        if reason:
            by_reason.setdefault(reason, []).append(member.name)
    told = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    for reason, names in told[:_REASONS_SHOWN]:
        yield f"{some(names)}: {reason}"
    untold = sum(len(names) for _reason, names in told[_REASONS_SHOWN:])
    if untold:
        yield f"{untold} more pods for other reasons"


def member_reason(member: Member, evidence: Evidence) -> str:
    """Why one pod does not do its part; empty when it does, or when the pod is gone by now."""
    pod = evidence.pods.get(member.name)
    if member.leaving:
        return "is being deleted"
    if pod is None or member.ended == "Succeeded":
        return ""
    return (
        _failure(pod)
        or _container_trouble(pod)
        or _unscheduled(pod)
        or _slow_start(pod, evidence.events)
        or _not_ready(pod)
    )


def _failure(pod: Object) -> str:
    if dig(pod, "status", "phase") != "Failed":
        return ""
    ended = [_termination(status) for status in _statuses(pod) if dig(status, "state", "terminated", "exitCode")]
    return f"failed: {', '.join(ended) or _quote(dig(pod, 'status', 'message') or dig(pod, 'status', 'reason'))}"


def _termination(status: Object) -> str:
    ended = dig(status, "state", "terminated") or dig(status, "lastState", "terminated", default={})
    reason = ended.get("reason")
    return f"container {status['name']} exited with {ended.get('exitCode')}{f' ({reason})' if reason else ''}"


def _container_trouble(pod: Object) -> str:
    """What a container waits for, where it is more than its turn."""
    for status in _statuses(pod):
        waiting = dig(status, "state", "waiting", default={})
        reason = waiting.get("reason", "")
        if reason in ("", "ContainerCreating", "PodInitializing"):
            continue
        if "Image" in reason:
            return f"container {status['name']}: {reason} {status.get('image', '')}"
        if dig(status, "lastState", "terminated"):
            return f"{_termination(status)}: {reason}, {status.get('restartCount', 0)} restarts"
        return f"container {status['name']}: {reason}{_colon(waiting.get('message'))}"
    sidecars = {init["name"] for init in dig(pod, "spec", "initContainers", default=()) if is_sidecar(init)}
    for status in dig(pod, "status", "initContainerStatuses", default=()):
        if dig(status, "state", "running") is not None and status["name"] not in sidecars:
            return f"init container {status['name']} is still running"
    return ""


def _unscheduled(pod: Object) -> str:
    if dig(pod, "spec", "nodeName"):
        return ""
    condition = _condition(pod, "PodScheduled")
    if condition.get("reason") == "SchedulingGated":
        gates = [gate["name"] for gate in dig(pod, "spec", "schedulingGates", default=())]
        return f"held back by scheduling gate {', '.join(gates)}"
    if condition.get("reason") == "Schedulable":
        return "would fit, waits for the rest of the gang"
    if condition:
        return _quote(_own_words(condition.get("message", ""))) or condition.get("reason", "has no node")
    return f"not looked at by a scheduler (schedulerName {dig(pod, 'spec', 'schedulerName', default='')})"


def _own_words(said: str) -> str:
    """What Volcano says of a pod, without its count of the whole gang, which is told elsewhere."""
    if not said.startswith("pod group is not ready"):
        return said
    _count, _of, origin = said.partition("Origin reason is ")
    return origin.partition(": ")[2] or "unschedulable"


def _slow_start(pod: Object, events: t.Iterable[Object]) -> str:
    if dig(pod, "status", "phase") != "Pending":
        return ""
    return _warning(events, {pod["metadata"]["name"]}) or "its containers have not started yet"


def _not_ready(pod: Object) -> str:
    unready = [status["name"] for status in _statuses(pod) if not status.get("ready")]
    if unready:
        return f"container {', '.join(unready)} is not ready"
    return "" if _condition(pod, "Ready").get("status", "True") == "True" else "is not ready"


def _statuses(pod: Object) -> list[Object]:
    status = dig(pod, "status", default={})
    started = [item for item in status.get("initContainerStatuses") or () if not item.get("ready")]
    return started + (status.get("containerStatuses") or [])


def _condition(pod: Object, kind: str) -> Object:
    return next((c for c in dig(pod, "status", "conditions", default=()) if c["type"] == kind), {})


def _quote(text: str | None) -> str:
    """Somebody else's words: on one line, not too many of them, without a full stop of their own."""
    words = " ".join((text or "").split()).rstrip(".")
    return words if len(words) <= _LONGEST_QUOTE else words[: _LONGEST_QUOTE - 3] + "..."


def _colon(text: str | None) -> str:
    return f": {_quote(text)}" if text else ""


# --- what the gang still wants, pure --------------------------------------------------------------------------------


def _shortage(gang: Gang, evidence: Evidence) -> t.Iterator[str]:
    """What the gang wants that nodes and queues do not have."""
    loads = _loads(gang, evidence)
    if evidence.nodes is None or evidence.used is None:
        yield from evidence.unread
    else:
        for load in loads:
            yield from shortage(load, evidence.nodes, evidence.used)
    yield from limits(loads, gang.queue, evidence.gatekeepers.queues)


def _loads(gang: Gang, evidence: Evidence) -> list[Load]:
    """The pods that the gang still needs on nodes, equal ones together."""
    counted: dict[str, Load] = {}
    for _task, spec in _minimums_first(gang, _wanting(gang, evidence))[: max(0, gang.needed - gang.bound)]:
        each = requests(spec)
        key = repr([sorted(each.items()), spec.get("nodeSelector"), spec.get("tolerations")])
        known = counted.get(key)
        counted[key] = Load(spec, each, known.count + 1 if known else 1)
    return list(counted.values())


def _wanting(gang: Gang, evidence: Evidence) -> list[tuple[str, Object]]:
    """Task and spec of every pod without a node: those that exist, then those that the templates would make."""
    existing = [(member.task, evidence.pods.get(member.name)) for member in gang.members if not member.node]
    wanting = [(task, pod["spec"]) for task, pod in existing if pod is not None]
    templates = _job_templates(gang) if gang.kind == "Job" else _lws_templates(gang)
    return wanting + [(task, spec) for task, spec, count in templates for _pod in range(count)]


def _minimums_first(gang: Gang, wanting: list[tuple[str, Object]]) -> list[tuple[str, Object]]:
    """Volcano also wants every task's own minimum, unless these add up to more than that of the Job."""
    lacking = {name: task["min_available"] for name, task in gang.tasks.items()}
    if sum(lacking.values()) > gang.needed:
        return wanting
    for member in gang.members:
        lacking[member.task] = lacking.get(member.task, 0) - member.bound
    first: list[tuple[str, Object]] = []
    rest: list[tuple[str, Object]] = []
    for task, spec in wanting:
        (first if lacking.get(task, 0) > 0 else rest).append((task, spec))
        lacking[task] = lacking.get(task, 0) - 1
    return first + rest


def _job_templates(gang: Gang) -> list[tuple[str, Object, int]]:
    """Per task its name, its template and the number of pods that it has not made."""
    templates = []
    for task in dig(gang.owner, "spec", "tasks", default=()):
        have = gang.tasks[task["name"]]
        missing = max(0, have["replicas"] - have["pods"])
        templates.append((task["name"], dig(task, "template", "spec", default={}), missing))
    return templates


def _lws_templates(gang: Gang) -> list[tuple[str, Object, int]]:
    """The same for the leader and the workers of an LWS group, which Volcano knows no tasks of."""
    template = dig(gang.owner, "spec", "leaderWorkerTemplate")
    if not template:
        return []
    worker = dig(template, "workerTemplate", "spec", default={})
    leader = dig(template, "leaderTemplate", "spec", default=worker)
    have = len(gang.members)
    return [("", leader, 0 if have else 1), ("", worker, max(0, gang.size - max(1, have)))]


def _queue(gang: Gang, gatekeepers: Gatekeepers) -> t.Iterator[str]:
    """Name the queue even where it is not to blame, so that nobody has to look it up; refusals name it already."""
    queue = gatekeepers.queues.get(gang.queue, {})
    state = queue_state(queue or {})
    if gang.queue and queue is not None and state not in ("Closed", "Closing"):
        yield f"queue {gang.queue} is {state}" if state else f"queue {gang.queue}"
