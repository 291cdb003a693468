# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""The operation behind M(kubegang.core.volcano_queue): a Queue that is there, open, closed or absent."""

from __future__ import annotations

import typing as t

from ansible_collections.kubegang.core.plugins.module_utils._change import Object, reconcile, remove
from ansible_collections.kubegang.core.plugins.module_utils._cluster import QUEUE, Cluster
from ansible_collections.kubegang.core.plugins.module_utils._command import order
from ansible_collections.kubegang.core.plugins.module_utils._errors import GangError, OptionError
from ansible_collections.kubegang.core.plugins.module_utils._volcano import (
    BUILT_IN_QUEUES,
    QUEUE_RULES,
    queue,
    queue_state,
)
from ansible_collections.kubegang.core.plugins.module_utils._wait import Outcome, wait_on

# Commands are namespaced, queues are not; vcctl sends a queue's commands here too.
_COMMAND_NAMESPACE = "default"
_ACTIONS = {"open": ("OpenQueue", "Open"), "closed": ("CloseQueue", "Closed")}


def ensure_queue(params: dict[str, t.Any], cluster: Cluster) -> dict[str, t.Any]:
    """Bring the Queue into the wanted state; the result is that of the task.

    Raises:
        GangError: it is one that must stay, or it did not get there before the deadline.
    """
    name, wanted_state = params["name"], params["state"]
    if wanted_state == "absent":
        return _remove(name, cluster)
    change = reconcile(cluster, QUEUE, queue(params), QUEUE_RULES)
    live = change.after or {}
    if not queue_state(live) and not cluster.dry_run:
        # Volcano refuses Jobs for a queue until its controller has given it a state.
        live = _await_state(cluster, name, ("Open", "Closed"), change.changed)
    # A queue that is only predicted would be opened.
    now = queue_state(live) or "Open"
    action, state = _ACTIONS.get(wanted_state, ("", now))
    result = {**change.result(), "object": live, "state": state}
    if now == state:
        return result
    result["changed"] = True
    result["diff"]["before"]["state"] = queue_state(change.before or {})
    result["diff"]["after"]["state"] = state
    if now != "Closing" or wanted_state == "open":
        _order(cluster, live, action, change.changed)
    if not cluster.dry_run:
        result["object"] = _await_state(cluster, name, (state,), True)
    return result


def _order(cluster: Cluster, live: Object, action: str, changed: bool) -> None:
    # Without Volcano, in check mode, there is nobody to tell, and no uid to tell about.
    if "uid" in live["metadata"]:
        order(cluster, QUEUE, live, action, _COMMAND_NAMESPACE, changed=changed)


def _remove(name: str, cluster: Cluster) -> dict[str, t.Any]:
    if name in BUILT_IN_QUEUES:
        raise OptionError("name", name, f"with state=absent any queue but {' and '.join(BUILT_IN_QUEUES)}")
    return remove(cluster, QUEUE, name).result()


def _await_state(cluster: Cluster, name: str, wanted: t.Sequence[str], changed: bool) -> Object:
    def judge(live: Object | None) -> Outcome:
        return Outcome(live is not None and queue_state(live) in wanted, final=live is None)

    live, outcome = wait_on(cluster, QUEUE, name, None, judge)
    if outcome.satisfied and live is not None:
        return live
    raise GangError(f"queue {name} in {cluster.name} is {_standing(live)}, not {' or '.join(wanted)}", changed=changed)


def _standing(live: Object | None) -> str:
    if live is None:
        return "gone"
    state = queue_state(live)
    if state == "Closing":
        counts = {phase: live["status"].get(phase, 0) for phase in ("pending", "inqueue", "running", "unknown")}
        held = ", ".join(f"{count} {phase}" for phase, count in counts.items() if count)
        return f"Closing: PodGroups are still in it ({held or 'not counted yet'})"
    return state or "without a state: Volcano's controllers have not seen it; do they run?"
