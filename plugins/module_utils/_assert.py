# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""The operations behind M(kubegang.core.gang_assert) and M(kubegang.core.gang_info)."""

from __future__ import annotations

import time
import typing as t
from functools import lru_cache

from ansible_collections.kubegang.core.plugins.module_utils._cluster import Cluster, Deadline
from ansible_collections.kubegang.core.plugins.module_utils._errors import GangError, counted
from ansible_collections.kubegang.core.plugins.module_utils._explain import (
    Evidence,
    Gatekeepers,
    explain,
    gather,
    member_reason,
    queues_of,
    refusals,
    schedulers_of,
    unserved,
)
from ansible_collections.kubegang.core.plugins.module_utils._gang import (
    Gang,
    Member,
    Snapshot,
    Target,
    read,
    require_namespace,
)
from ansible_collections.kubegang.core.plugins.module_utils._judge import Expectation, judge, problems
from ansible_collections.kubegang.core.plugins.module_utils._wait import Outcome, Wake, wait_until

# A scheduler that serves a gang binds or comments its pods sooner than this; only then its name is looked into.
_PICK_UP_S = 10.0
_GANGS_TOLD = 3


def assert_gangs(params: dict[str, t.Any], cluster: Cluster) -> dict[str, t.Any]:
    """Prove that the gangs are as expected; the result is that of the task.

    Raises:
        GangError: they are not, with the reasons.
    """
    expectation = Expectation(
        state=params["expect"],
        require_ready=params["require_ready"],
        every_task_minimum=params["every_task_minimum"],
        accept_finished=params["accept_finished"],
        distinct_nodes=params["distinct_nodes"],
        same_topology=params["same_topology"] or "",
        queue=params["queue"] or "",
        rollout=params["rollout"] or "",
    )
    began = time.monotonic()
    seen = prove(cluster, Target.of(params), expectation, hold=params["hold_for"])
    return {
        "changed": False,
        "msg": _few([_proof(gang, expectation) for gang in seen.gangs]),
        **seen.facts,
        "seconds": round(time.monotonic() - began, 2),
    }


def gang_facts(params: dict[str, t.Any], cluster: Cluster) -> dict[str, t.Any]:
    """Everything about the gangs, members and reasons included; the result is that of the task."""
    seen = read(cluster, Target.of(params))
    evidence = gather(cluster, seen)
    gangs = []
    for gang in seen.gangs:
        members = [_member_facts(member, evidence) for member in gang.members]
        gangs.append({**gang.facts, "members": members, "reasons": explain(gang, evidence)})
    return {"changed": False, "gangs": gangs}


def prove(
    cluster: Cluster, target: Target, expectation: Expectation, *, hold: float = 0.0, changed: bool = False
) -> Snapshot:
    """Wait until the gangs are as expected, for ``hold`` seconds without a break; the last look is the result.

    Args:
        changed: whether the task had changed something before, for the result of a failure.

    Raises:
        GangError: they are not so before the cluster's deadline, or never will be, with the reasons.
    """
    began = time.monotonic()
    looks = _Looks(cluster, target, expectation)
    try:
        with Wake(cluster, target.sources) as wake:
            seen, outcome = wait_until(looks.read, looks.judge, wake, cluster.deadline, hold)
    except GangError as error:
        error.facts.setdefault("changed", changed)
        raise
    if not outcome.satisfied:
        waited = round(time.monotonic() - began)
        when = f", after {waited} s" if waited else ""
        # That a gang is bound although it should be held needs no reason for not running.
        explained = seen.gangs and expectation.state != "held"
        why = _why(cluster, seen, expectation) if explained else list(outcome.reasons)
        raise GangError(f"{_few(why)} (cluster {cluster.name}{when})", changed=changed, reasons=why, **seen.facts)
    return seen


class _Looks:
    """Reads and judges looks in the light of those before: what was there and is gone, what was held and is bound."""

    def __init__(self, cluster: Cluster, target: Target, expectation: Expectation) -> None:
        self._cluster = cluster
        self._target = target
        self._expectation = expectation
        self._picked_up_by = Deadline(_PICK_UP_S)
        self._schedulers = lru_cache(maxsize=None)(lambda: schedulers_of(cluster))
        self._was_there = False
        self._was_held = False

    def read(self) -> Snapshot:
        snapshot = read(self._cluster, self._target, node_labels=bool(self._expectation.same_topology))
        if not snapshot.found:
            require_namespace(self._cluster, self._target)
        return snapshot

    def judge(self, snapshot: Snapshot) -> Outcome:
        vanished = self._was_there and not snapshot.found
        self._was_there = snapshot.found
        # The PodGroup of an LWS group goes and comes with its leader.
        if vanished and self._target.name and self._target.kind != "PodGroup":
            return Outcome(False, final=True, reasons=[f"{self._target} was deleted while it was waited for"])
        outcome = judge(snapshot, self._expectation)
        if self._expectation.state == "held":
            return self._held(snapshot, outcome)
        if outcome.satisfied or outcome.final:
            return outcome
        return Outcome(False, self._hopeless(snapshot), outcome.reasons)

    def _held(self, snapshot: Snapshot, outcome: Outcome) -> Outcome:
        """Nobody holds back a gang whose scheduler does not exist; and once held, a pod that is bound is the end."""
        forgotten = [
            f"gang {gang}: {reason}" for gang in snapshot.gangs for reason in unserved(gang, self._schedulers())
        ]
        broken = self._was_held and not outcome.satisfied
        self._was_held = outcome.satisfied
        if forgotten:
            return Outcome(False, final=True, reasons=forgotten)
        return Outcome(outcome.satisfied, outcome.final or broken, outcome.reasons)

    def _hopeless(self, snapshot: Snapshot) -> bool:
        """Whether a gang that has no pod on a node will never get one."""
        waiting = [gang for gang in snapshot.gangs if not gang.bound and not gang.finished]
        if not waiting:
            return False
        schedulers = self._schedulers() if self._picked_up_by.passed else ()
        keepers = Gatekeepers(queues_of(self._cluster, waiting), schedulers)
        return any(refusals(gang, keepers) for gang in waiting)


def _why(cluster: Cluster, seen: Snapshot, expectation: Expectation) -> list[str]:
    """One text for each gang that is not as expected."""
    evidence = gather(cluster, seen)
    told = []
    for gang in seen.gangs:
        found = [problem.text for problem in problems(gang, expectation, seen.nodes)]
        if found:
            told.append(f"gang {gang}: " + "; ".join(found + explain(gang, evidence)))
    return told


def _proof(gang: Gang, expectation: Expectation) -> str:
    if expectation.state == "held":
        return f"gang {gang}: held, 0 of {gang.needed} pods bound, PodGroup is {gang.phase}"
    if gang.finished:
        return f"gang {gang}: completed, {counted(gang.succeeded, 'pod')} succeeded"
    done = f", {gang.succeeded} succeeded" if gang.succeeded else ""
    surplus = f" (more than the {gang.needed} needed)" if gang.running > gang.needed else ""
    running = f"{gang.running} of {len(gang.members)} pods running{surplus}"
    return f"gang {gang}: {running} on {counted(len(gang.nodes), 'node')}{done}"


def _few(texts: t.Sequence[str]) -> str:
    """Some gangs' texts, and the number of the rest."""
    rest = len(texts) - _GANGS_TOLD
    more = f"; and {counted(rest, 'more gang')}" if rest > 0 else ""
    return ". ".join(texts[:_GANGS_TOLD]) + more


def _member_facts(member: Member, evidence: Evidence) -> dict[str, t.Any]:
    pod = evidence.pods.get(member.name, {})
    return {
        "pod": member.name,
        "node": member.node,
        "phase": pod.get("status", {}).get("phase", ""),
        "status": member.status,
        "ready": member.ready,
        "task": member.task,
        "reason": member_reason(member, evidence),
    }
