# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""The operation behind M(kubegang.core.volcano_job): a gang Job that is there, absent, suspended or resumed."""

from __future__ import annotations

import typing as t

from ansible_collections.kubegang.core.plugins.module_utils._assert import prove
from ansible_collections.kubegang.core.plugins.module_utils._change import Object, reconcile, remove
from ansible_collections.kubegang.core.plugins.module_utils._cluster import JOB, Cluster
from ansible_collections.kubegang.core.plugins.module_utils._command import order
from ansible_collections.kubegang.core.plugins.module_utils._errors import GangError
from ansible_collections.kubegang.core.plugins.module_utils._gang import JOB_NAME, Target
from ansible_collections.kubegang.core.plugins.module_utils._judge import Expectation
from ansible_collections.kubegang.core.plugins.module_utils._manifest import named
from ansible_collections.kubegang.core.plugins.module_utils._volcano import (
    FINAL_PHASES,
    JOB_RULES,
    job,
    job_doubts,
    job_phase,
)
from ansible_collections.kubegang.core.plugins.module_utils._wait import Outcome, wait_on

_SUSPENDED = ("Aborting", "Aborted")
_ENDING = ("Completing", "Terminating")


def ensure_job(params: dict[str, t.Any], cluster: Cluster) -> dict[str, t.Any]:
    """Bring the Job into the wanted state; the result is that of the task.

    Raises:
        GangError: a field that cannot change differs, or the Job did not get there before the deadline.
    """
    if params["state"] == "present":
        return _submit(params, cluster)
    name, namespace = named(params)
    act = {"absent": _remove, "suspended": _suspend, "resumed": _resume}[params["state"]]
    return act(cluster, name, namespace)


def _submit(params: dict[str, t.Any], cluster: Cluster) -> dict[str, t.Any]:
    wanted = job(params)
    for doubt in job_doubts(wanted):
        cluster.warn(doubt)
    change = reconcile(cluster, JOB, wanted, JOB_RULES, recreate=params["on_immutable"] == "recreate")
    result = change.result()
    if cluster.dry_run or params["wait_for"] == "created":
        return result
    metadata = wanted["metadata"]
    target = Target("Job", metadata["namespace"], metadata["name"])
    # A Job that has completed has run: the same task may come again when the work is done.
    expectation = Expectation(state=params["wait_for"], accept_finished=True)
    prove(cluster, target, expectation, changed=result["changed"])
    return {**result, "object": _existing(cluster, target.name, target.namespace)}


def _remove(cluster: Cluster, name: str, namespace: str) -> dict[str, t.Any]:
    return remove(cluster, JOB, name, namespace, pods=f"{JOB_NAME}={name}").result()


def _suspend(cluster: Cluster, name: str, namespace: str) -> dict[str, t.Any]:
    live = _existing(cluster, name, namespace)
    phase = job_phase(live)
    if phase in _ENDING or (phase in FINAL_PHASES and phase not in _SUSPENDED):
        raise GangError(f"Job {namespace}/{name} in {cluster.name} is {phase}: it cannot be suspended any more")
    return _command(cluster, live, "AbortJob", needed=phase not in _SUSPENDED, reached=lambda now: now == "Aborted")


def _resume(cluster: Cluster, name: str, namespace: str) -> dict[str, t.Any]:
    live = _existing(cluster, name, namespace)
    needed = job_phase(live) in _SUSPENDED
    return _command(cluster, live, "ResumeJob", needed=needed, reached=lambda now: now not in _SUSPENDED)


def _command(
    cluster: Cluster, live: Object, action: str, *, needed: bool, reached: t.Callable[[str], bool]
) -> dict[str, t.Any]:
    """Send the Command if it is needed, and wait for the phase that it leads to."""
    name, namespace = live["metadata"]["name"], live["metadata"]["namespace"]
    before = job_phase(live)
    if needed:
        order(cluster, JOB, live, action, namespace, changed=False)
    if cluster.dry_run:
        return _phase_result(live, before, f"after {action}" if needed else before)

    def judge(now: Object | None) -> Outcome:
        return Outcome(now is not None and reached(job_phase(now)), final=now is None)

    now, outcome = wait_on(cluster, JOB, name, namespace, judge)
    if now is None:
        raise _missing(cluster, name, namespace)
    if not outcome.satisfied:
        raise GangError(
            f"Job {namespace}/{name} in {cluster.name} is still {job_phase(now)} after {action}", changed=needed
        )
    return _phase_result(now, before, job_phase(now) if needed else before)


def _phase_result(live: Object, before: str, after: str) -> dict[str, t.Any]:
    diff = {"before": {"phase": before}, "after": {"phase": after}}
    return {"changed": before != after, "diff": diff, "object": live}


def _existing(cluster: Cluster, name: str, namespace: str) -> Object:
    live = cluster.get(JOB, name, namespace)
    if live is None:
        raise _missing(cluster, name, namespace)
    return live


def _missing(cluster: Cluster, name: str, namespace: str) -> GangError:
    return GangError(f"Job {namespace}/{name} does not exist in {cluster.name}")
