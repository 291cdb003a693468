# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""Whether gangs are as expected. Pure, and no phase is proof.

Volcano's Running counts failed pods, the Available condition of LWS can be stale, and conditions of a PodGroup are
never cleared. What counts are pods of the current object that run, on nodes, ready, at the same moment.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass

from ansible_collections.kubegang.core.plugins.module_utils._change import Object
from ansible_collections.kubegang.core.plugins.module_utils._errors import counted, some
from ansible_collections.kubegang.core.plugins.module_utils._gang import (
    Gang,
    Member,
    Snapshot,
    dig,
    natural,
)
from ansible_collections.kubegang.core.plugins.module_utils._wait import Outcome

_ROLLING_UPDATE = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")


@dataclass(frozen=True)
class Expectation:
    """What is to be true of every gang; the options of ``gang_assert`` explain each."""

    state: str = "running"
    require_ready: bool = True
    every_task_minimum: bool = False
    accept_finished: bool = False
    distinct_nodes: bool = False
    same_topology: str = ""
    queue: str = ""
    rollout: str = ""


@dataclass(frozen=True)
class Problem:
    """Why one gang is not as expected, and whether waiting longer is of no use."""

    text: str
    final: bool = False


def judge(snapshot: Snapshot, expectation: Expectation) -> Outcome:
    """Whether every gang of the target is as expected. Nothing there is never what was expected."""
    if not snapshot.gangs:
        return Outcome(False, reasons=[nothing_there(snapshot)])
    found = [(gang, problem) for gang in snapshot.gangs for problem in problems(gang, expectation, snapshot.nodes)]
    return Outcome(
        satisfied=not found,
        final=any(problem.final for _gang, problem in found),
        reasons=[f"gang {gang}: {problem.text}" for gang, problem in found],
    )


def nothing_there(snapshot: Snapshot) -> str:
    if snapshot.found:
        return f"{snapshot.target} has no gang: its replicas are 0"
    return f"{snapshot.target} not found" if snapshot.target.name else f"no {snapshot.target}"


def problems(
    gang: Gang, expectation: Expectation, nodes: t.Mapping[str, t.Mapping[str, str]] | None = None
) -> list[Problem]:
    """Everything about one gang that is not as expected."""
    if gang.dead:
        return [Problem(_death(gang), final=True)]
    found = _STATES[expectation.state](gang, expectation)
    if expectation.queue and gang.queue and gang.queue != expectation.queue:
        # A PodGroup stays in the queue that it was made for.
        found.append(Problem(f"it is in queue {gang.queue}, not in {expectation.queue}", final=True))
    if expectation.rollout:
        found += _not_updated(gang, expectation)
    if expectation.state == "running" and not found and not gang.finished:
        # Pods never move: whatever is wrong with where they run stays wrong.
        found += [Problem(text, final=True) for text in _misplaced(gang, expectation, nodes or {})]
    return found


def _death(gang: Gang) -> str:
    said = dig(gang.owner, "status", "state", "message") or dig(gang.owner, "status", "state", "reason")
    pods = f"{gang.succeeded} of its pods succeeded, {gang.failed} failed"
    return f"Job is {gang.job_phase}{f' ({said})' if said else ''}: {pods}"


def _running(gang: Gang, expectation: Expectation) -> list[Problem]:
    if gang.finished:
        done = Problem("it has completed; accept_finished=true takes that for success", final=True)
        return [] if expectation.accept_finished else [done]
    alive = gang.ready if expectation.require_ready else gang.running
    if alive == 0 or alive + gang.succeeded < gang.needed:
        return [Problem(short_of(gang, expectation.require_ready))]
    if gang.kind == "Job" and gang.job_phase != "Running":
        return [Problem(f"enough pods run, yet the Job is {gang.job_phase or 'not known to its controller'}")]
    if gang.kind == "LeaderWorkerSet" and _unobserved(gang.owner):
        return [Problem("the LWS controller has not yet acted on the latest change of the LeaderWorkerSet")]
    if gang.group_name and gang.podgroup is None:
        return [Problem(f"its pods run, yet the PodGroup {gang.group_name} that they name does not exist")]
    return _short_tasks(gang, expectation) if expectation.every_task_minimum else []


def short_of(gang: Gang, require_ready: bool = True) -> str:
    """How far a gang has come, in the words of the first step that it is short of."""
    if gang.bound < gang.needed:
        return f"{gang.bound} of {gang.needed} pods bound"
    if require_ready and gang.running + gang.succeeded >= gang.needed and gang.running:
        return f"{gang.ready} of {gang.needed} pods ready"
    return f"{gang.running} of {gang.needed} pods running"


def _unobserved(lws: Object | None) -> bool:
    generation = dig(lws, "metadata", "generation", default=0)
    return dig(lws, "status", "observedGeneration", default=generation) < generation


def _not_updated(gang: Gang, expectation: Expectation) -> list[Problem]:
    """What keeps a group of a LeaderWorkerSet from the newest template, as far as the roll-out is to go."""
    if gang.kind != "LeaderWorkerSet":
        return [Problem(f"a {gang.kind} has no roll-out", final=True)]
    partition = dig(gang.owner, *_ROLLING_UPDATE, "partition", default=0)
    # The controller keeps surplus groups for as long as a partition holds the roll-out.
    replicas = dig(gang.owner, "spec", "replicas", default=1)
    surplus = dig(gang.owner, "status", "replicas", default=0) - replicas
    if gang.updated:
        over = gang.index < replicas - 1 or partition or surplus <= 0
        return [] if over else [Problem(f"the roll-out has left {counted(surplus, 'surplus group')}")]
    if gang.index >= partition:
        return [Problem("the roll-out has not reached it")]
    held = Problem(f"partition {partition} holds the roll-out: groups below it keep the earlier template", final=True)
    return [held] if expectation.rollout == "complete" else []


def _short_tasks(gang: Gang, expectation: Expectation) -> list[Problem]:
    counter = "ready" if expectation.require_ready else "running"
    return [
        Problem(f"task {name}: {task[counter]} of its minimum of {task['min_available']} pods {counter}")
        for name, task in gang.tasks.items()
        if task[counter] + task["succeeded"] < task["min_available"]
    ]


def _completed(gang: Gang, _expectation: Expectation) -> list[Problem]:
    if gang.kind == "LeaderWorkerSet":
        return [Problem("a LeaderWorkerSet never completes: its pods are restarted", final=True)]
    if gang.kind == "Job" and gang.finished:
        # A Command can complete a Job that did nothing. Where no pod is left, there is only its word.
        worked = gang.succeeded or not gang.members
        return [] if worked else [Problem("the Job is Completed, but none of its pods succeeded", final=True)]
    if gang.finished and gang.succeeded >= gang.needed:
        return []
    phase = f"the Job is {gang.job_phase}: " if gang.job_phase else ""
    failed = f", {gang.failed} failed" if gang.failed else ""
    return [Problem(f"{phase}{gang.succeeded} of {gang.needed} pods succeeded{failed}")]


def _held(gang: Gang, _expectation: Expectation) -> list[Problem]:
    """A held gang waits: it is known to a scheduler, and none of its pods has a node."""
    if gang.finished:
        return [Problem("it is not held, it has completed", final=True)]
    if gang.bound:
        members = [f"{member.name} on {member.node}" for member in gang.members if member.bound]
        return [Problem(f"it is not held: {gang.bound} of {len(gang.members)} pods bound ({some(members)})")]
    if gang.podgroup is None:
        return [Problem("it has no PodGroup yet, so that nobody can be said to hold it")]
    if gang.phase != "Pending" and not _judged(gang.podgroup):
        return [Problem(f"no scheduler has found its pods unschedulable (PodGroup {gang.phase or 'without a phase'})")]
    return []


def _judged(podgroup: Object) -> bool:
    """Whether a scheduler tried the pods of an admitted PodGroup: it never looks at those of somebody else's name."""
    return any(condition["type"] == "Unschedulable" for condition in dig(podgroup, "status", "conditions", default=()))


_STATES: dict[str, t.Callable[[Gang, Expectation], list[Problem]]] = {
    "running": _running,
    "completed": _completed,
    "held": _held,
}


def _misplaced(gang: Gang, expectation: Expectation, nodes: t.Mapping[str, t.Mapping[str, str]]) -> t.Iterator[str]:
    running = [member for member in gang.members if member.running]
    if expectation.distinct_nodes:
        for node, count in Counter(member.node for member in running).items():
            if count > 1:
                sharing = [member.name for member in running if member.node == node]
                yield f"{count} pods share node {node} ({some(sharing)})"
    if expectation.same_topology:
        yield from _spread(running, expectation.same_topology, nodes)


def _spread(running: list[Member], label: str, nodes: t.Mapping[str, t.Mapping[str, str]]) -> t.Iterator[str]:
    bare = sorted({member.node for member in running if label not in nodes.get(member.node, {})}, key=natural)
    if bare:
        yield f"no label {label} on {some(bare)}"
        return
    domains = Counter(nodes[member.node][label] for member in running)
    if len(domains) > 1:
        yield f"pods spread over {len(domains)} values of {label}: " + some(
            [f"{domain} ({count})" for domain, count in domains.most_common()]
        )
