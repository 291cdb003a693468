# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""Volcano's own kinds: options → manifest, which fields are immutable, what a state means. Pure functions."""

from __future__ import annotations

import typing as t

from ansible_collections.kubegang.core.plugins.module_utils._change import Object, Rules
from ansible_collections.kubegang.core.plugins.module_utils._cluster import COMMAND, JOB, QUEUE, Kind
from ansible_collections.kubegang.core.plugins.module_utils._errors import OptionError
from ansible_collections.kubegang.core.plugins.module_utils._manifest import (
    camel,
    checked_name,
    from_definition,
    manifest,
)

# Made by the scheduler at start; the webhook lets nobody delete them.
BUILT_IN_QUEUES = ("default", "root")

# batch.volcano.sh/v1alpha1 JobPhase: from these a Job does not move by itself. Aborted can be resumed.
FINAL_PHASES = ("Completed", "Failed", "Terminated", "Aborted")

# Webhook /jobs/validate compares the rest of the spec and denies the update (1.10 and 1.15; 1.10 denies
# priorityClassName too, with a message of its own).
JOB_RULES = Rules(
    mutable=(
        "metadata.labels",
        "metadata.annotations",
        "spec.minAvailable",
        "spec.priorityClassName",
        "spec.tasks[*].replicas",
        "spec.tasks[*].minAvailable",
    )
)
# A resource that is no longer named in a limit shall no longer be limited.
QUEUE_RULES = Rules(whole=("spec.capability", "spec.deserved", "spec.guarantee.resource"))


def job(params: dict[str, t.Any]) -> Object:
    """The Job that the options of M(kubegang.core.volcano_job) describe.

    Without ``min_available`` the whole gang is needed: the minimum is what the webhook would fill in at the first
    submission, written out so that it follows a later change of the replicas.
    """
    if params.get("definition"):
        built = from_definition(JOB, params["definition"], params["name"], params["namespace"])
    else:
        built = manifest(JOB, params["name"], params["namespace"], _job_spec(params), _metadata(params))
    checked_name("name", built["metadata"]["name"])
    return _whole_gang(built)


def _metadata(params: dict[str, t.Any]) -> Object:
    return {"labels": params["labels"] or None, "annotations": params["annotations"] or None}


def _job_spec(params: dict[str, t.Any]) -> Object:
    same_name = ("min_available", "queue", "priority_class_name", "max_retry", "ttl_seconds_after_finished")
    spec = camel({option: params[option] for option in same_name})
    topology = params["network_topology"]
    return {
        **spec,
        "schedulerName": params["scheduler_name"],
        "plugins": params["plugins"],
        "policies": _policies(params["policies"]),
        "volumes": [camel(volume) for volume in params["volumes"]] if params["volumes"] else None,
        "networkTopology": camel(topology) if topology else None,
        "tasks": [_task(task) for task in params["tasks"] or ()],
    }


def _task(task: dict[str, t.Any]) -> Object:
    depends_on = task["depends_on"]
    return {
        **camel({option: task[option] for option in ("name", "replicas", "min_available", "max_retry", "template")}),
        "policies": _policies(task["policies"]),
        "dependsOn": {"name": depends_on} if depends_on else None,
    }


def _policies(policies: list[dict[str, t.Any]] | None) -> list[Object] | None:
    return [camel(policy) for policy in policies] if policies else None


def _whole_gang(built: Object) -> Object:
    spec = built["spec"]
    tasks = spec.get("tasks")
    if not isinstance(tasks, list) or not tasks or not all(isinstance(task, dict) for task in tasks):
        raise OptionError("tasks", tasks, "a list of at least one task")
    tasks = [{**task, "minAvailable": task_minimum(task)} for task in tasks]
    minimum = spec.get("minAvailable") or sum(task["minAvailable"] for task in tasks)
    return {**built, "spec": {**spec, "tasks": tasks, "minAvailable": minimum}}


def task_minimum(task: Object) -> int:
    """How many of the task's pods the gang needs (webhook /jobs/mutate): all, unless the task says less."""
    partition = task.get("partitionPolicy") or {}
    if task.get("minAvailable") is not None:
        return task["minAvailable"]
    if partition.get("minPartitions"):
        return partition["minPartitions"] * partition["partitionSize"]
    return task.get("replicas", 1)


def job_doubts(built: Object) -> list[str]:
    """What Volcano accepts and the user hardly wants, as warnings."""
    spec = built["spec"]
    tasks, minimum = spec["tasks"], spec["minAvailable"]
    doubts = []
    by_tasks = sum(task["minAvailable"] for task in tasks)
    if minimum < by_tasks:
        doubts.append(
            f"minAvailable {minimum} of the Job is below the sum {by_tasks} of its tasks' minAvailable: Volcano may"
            " start the gang with a task below its own minimum"
        )
    dependent = [task for task in tasks if task.get("dependsOn")]
    first = sum(task.get("replicas", 1) for task in tasks if task not in dependent)
    if dependent and minimum > first:
        waits = "; ".join(
            f"{task['name']} dependsOn {', '.join(task['dependsOn'].get('name') or ())}" for task in dependent
        )
        doubts.append(
            f"minAvailable {minimum} can never be met: {waits}, so only {first} of {minimum} pods exist while the gang"
            " waits for all of them"
        )
    return doubts


def queue(params: dict[str, t.Any]) -> Object:
    """The Queue that the options of M(kubegang.core.volcano_queue) describe."""
    checked_name("name", params["name"])
    same_name = ("weight", "capability", "deserved", "reclaimable", "parent", "priority")
    spec = camel({option: params[option] for option in same_name})
    guarantee = params["guarantee"]
    spec["guarantee"] = {"resource": guarantee} if guarantee is not None else None
    return manifest(QUEUE, params["name"], None, spec)


def command(target_kind: Kind, target: Object, action: str, namespace: str, unique: str) -> Object:
    """The bus Command by which Volcano's controllers are told to act on a Job or a Queue.

    Args:
        target_kind: of the target.
        target: the live Job or Queue.
        action: OpenQueue, CloseQueue, AbortJob or ResumeJob.
        namespace: where the Command lives; the controller consumes it at once.
        unique: makes the name one of its own.
    """
    metadata = target["metadata"]
    reference = {
        "apiVersion": target_kind.api_version,
        "kind": target_kind.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": COMMAND.api_version,
        "kind": COMMAND.kind,
        "metadata": {
            "name": f"{metadata['name'][:200]}-{action.lower()}-{unique}",
            "namespace": namespace,
            "ownerReferences": [reference],
        },
        "action": action,
        "target": reference,
    }


def queue_state(live: Object) -> str:
    """Open, Closed, Closing, Unknown, or empty while the controller has not seen the queue yet."""
    return (live.get("status") or {}).get("state") or ""


def job_phase(live: Object) -> str:
    """The Job's phase, or empty while the controller has not seen it yet."""
    state = (live.get("status") or {}).get("state") or {}
    return state.get("phase") or ""
