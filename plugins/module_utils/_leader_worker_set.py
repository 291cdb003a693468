# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""The operation behind M(kubegang.core.leader_worker_set): a LeaderWorkerSet, and so its groups, that are there or absent."""

from __future__ import annotations

import typing as t

from ansible_collections.kubegang.core.plugins.module_utils._assert import prove
from ansible_collections.kubegang.core.plugins.module_utils._change import Change, reconcile, remove, wait_no_pods
from ansible_collections.kubegang.core.plugins.module_utils._cluster import AUTOSCALER, LWS, Cluster
from ansible_collections.kubegang.core.plugins.module_utils._errors import ApiError
from ansible_collections.kubegang.core.plugins.module_utils._gang import Target, dig
from ansible_collections.kubegang.core.plugins.module_utils._judge import Expectation
from ansible_collections.kubegang.core.plugins.module_utils._lws import (
    LWS_RULES,
    NAME_LABEL,
    QUEUE_ANNOTATION,
    doubts,
    leader_worker_set,
)
from ansible_collections.kubegang.core.plugins.module_utils._manifest import named

_ROLLOUTS = {"running": "", "updated": "partitioned"}
# LWS before 0.9 does not say which change it has acted on, so that what is seen right after one may be the state before
# it. Its controller takes less than this to act.
_REACTION_S = 3.0


def ensure_leader_worker_set(params: dict[str, t.Any], cluster: Cluster) -> dict[str, t.Any]:
    """Bring the LeaderWorkerSet into the wanted state; the result is that of the task.

    Raises:
        GangError: a field that cannot change differs, or its groups did not get there before the deadline.
    """
    if params["state"] == "absent":
        name, namespace = named(params)
        return remove(cluster, LWS, name, namespace, pods=f"{NAME_LABEL}={name}").result()
    wanted = leader_worker_set(params)
    for doubt in doubts(wanted, params["scheduler_name"]):
        cluster.warn(doubt)
    change = reconcile(cluster, LWS, wanted, LWS_RULES, recreate=params["on_immutable"] == "recreate")
    _warn_of_queue(cluster, change)
    _warn_of_autoscaler(cluster, change)
    result = change.result()
    if cluster.dry_run or params["wait_for"] == "created":
        return result
    target = Target("LeaderWorkerSet", wanted["metadata"]["namespace"], wanted["metadata"]["name"])
    if dig(change.after, "spec", "replicas", default=1) == 0:
        wait_no_pods(
            cluster, f"{target} in {cluster.name} is scaled to 0", target.namespace, target.pods, change.changed
        )
    else:
        expectation = Expectation(rollout=_ROLLOUTS[params["wait_for"]])
        prove(cluster, target, expectation, hold=_reaction(change), changed=change.changed)
    return {**result, "object": cluster.get(LWS, target.name, target.namespace) or result["object"]}


def _reaction(change: Change) -> float:
    """Seconds for which what was waited for has to last before it can be believed."""
    told = dig(change.before, "status", "observedGeneration")
    return _REACTION_S if change.before and change.changed and told is None else 0.0


def _warn_of_queue(cluster: Cluster, change: Change) -> None:
    """LWS reads the queue when it makes a PodGroup, and never again."""
    if not (change.before and change.after):
        return
    before, after = (dig(obj, "metadata", "annotations", QUEUE_ANNOTATION) for obj in (change.before, change.after))
    if before != after and change.before["metadata"].get("uid") == change.after["metadata"].get("uid"):
        cluster.warn(
            f"gangs that exist stay in queue {before or 'default'}: LWS puts a group into queue {after or 'default'} only"
            " when it makes that group anew"
        )


def _warn_of_autoscaler(cluster: Cluster, change: Change) -> None:
    """Say whom a change of the replicas fights: the autoscaler will take it back."""
    before, after = (dig(obj, "spec", "replicas") for obj in (change.before, change.after))
    if before is None or before == after:
        return
    metadata = (change.after or {})["metadata"]
    try:
        autoscalers = cluster.list(AUTOSCALER, metadata["namespace"])
    except ApiError as error:
        if error.status in (403, 404):
            return  # Not ours to see, or none can be there: then there is nothing to say.
        raise
    for autoscaler in autoscalers:
        scaled = autoscaler["spec"]["scaleTargetRef"]
        if (scaled["kind"], scaled["name"]) == (LWS.kind, metadata["name"]):
            cluster.warn(
                f"HorizontalPodAutoscaler {autoscaler['metadata']['name']} owns the replicas of this LeaderWorkerSet and"
                f" will change {after} again; leave option replicas out"
            )
