# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""From a wanted manifest to a Change: compare by value with what the server stored, write only real differences.

A re-apply of the same Volcano Job is denied by its webhook, because the defaults that the first one was given look
like removals. So nothing is applied: the wanted values are laid over the stored object, and only if that makes a
difference the result is sent, under the resource version that was compared.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ansible_collections.kubegang.core.plugins.module_utils._cluster import POD, Cluster, Kind, Row, quantity
from ansible_collections.kubegang.core.plugins.module_utils._errors import ApiError, GangError, some
from ansible_collections.kubegang.core.plugins.module_utils._wait import (
    Outcome,
    Source,
    Wake,
    wait_on,
    wait_until,
)

Object = dict[str, t.Any]
Path = tuple[str, ...]

# Below these keys a value is a quantity (core/v1 ResourceList), so that 1000m and 1 are the same amount.
_RESOURCE_LISTS = frozenset(
    ("limits", "requests", "capability", "deserved", "resource", "minResources", "hard", "capacity", "allocatable")
)
# Volcano's webhook rewrites the tasks through Go types that drop these fields when they are false, 0 or empty (core/v1
# and batch.volcano.sh/v1alpha1, ``omitempty`` without a pointer); built-in metadata is dropped likewise.
_DROPPED_WHEN_ZERO = frozenset(
    """
    annotations labels finalizers ownerReferences hostNetwork hostPID hostIPC nodeSelector tolerations volumes
    initContainers imagePullSecrets hostAliases priorityClassName serviceAccountName schedulerName subdomain
    command args env envFrom ports volumeMounts workingDir stdin stdinOnce tty value readOnly subPath hostPort
    policies replicas resources limits requests
    """.split()
)
_NAMED_PODS = 5
# The server writes these; they are no part of what was wanted.
_SERVER_METADATA = frozenset(
    ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid", "deletionTimestamp")
)


@dataclass(frozen=True)
class Rules:
    """What a kind's API says about its fields, as dotted paths; ``[*]`` stands for any item of a list.

    Attributes:
        mutable: all that may change on a live object; None means anything may.
        immutable: of that, what may not.
        whole: mappings that the user gives whole, so that a stored key that is not wanted is a difference.
        scale: the number that the kind's scale subresource sets; a change of it alone goes there.
    """

    mutable: t.Sequence[str] | None = None
    immutable: t.Sequence[str] = ()
    whole: t.Sequence[str] = ()
    scale: str = ""


@dataclass(frozen=True)
class Change:
    """What stood there before, and what stands (in check mode: would stand) there after; None means absent."""

    before: Object | None
    after: Object | None

    @property
    def changed(self) -> bool:
        return _own(self.before) != _own(self.after)

    def result(self) -> dict[str, t.Any]:
        """The keys of a task's result that every state module returns."""
        diff = {"before": _own(self.before) or {}, "after": _own(self.after) or {}}
        return {"changed": self.changed, "diff": diff, "object": self.after or {}}


def _own(obj: Object | None) -> Object | None:
    """The object without what the server alone decides."""
    if obj is None:
        return None
    kept = {key: value for key, value in obj.items() if key != "status"}
    kept["metadata"] = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_METADATA}
    return kept


def reconcile(
    cluster: Cluster, kind: Kind, wanted: Object, rules: Rules = Rules(), *, recreate: bool = False
) -> Change:
    """Make the live object hold every wanted value, with one write or with none.

    Args:
        cluster: where.
        kind: of the object.
        wanted: the manifest; what it does not mention stays as it is.
        rules: of the kind.
        recreate: delete and create again when a field that differs cannot change on a live object.

    Raises:
        GangError: such a field differs and ``recreate`` is off; it names the fields.
        ApiError: the server refused.
    """
    metadata = wanted["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace")
    if cluster.dry_run and not cluster.serves(kind):
        # A check of a whole site runs before the CRDs are there.
        cluster.warn(f"{cluster.name} has no API {kind.api_version} yet; {kind.comes_with} has to be installed first")
        return Change(None, wanted)
    first = live = _settled(cluster, kind, name, namespace)
    while True:
        try:
            return Change(first, _bring(cluster, kind, wanted, live, rules, recreate))
        except ApiError as error:
            # Somebody was faster, or the answer to an earlier try of ours was lost: look again, then decide again.
            if not error.conflict or cluster.deadline.passed:
                raise
            live = cluster.get(kind, name, namespace)


def _bring(cluster: Cluster, kind: Kind, wanted: Object, live: Object | None, rules: Rules, recreate: bool) -> Object:
    """One write, or none where nothing differs; the object as it then stands."""
    if live is None:
        return cluster.create(kind, wanted)
    merged = merge(wanted, live, rules)
    paths = differing(live, merged)
    if not paths:
        return live
    frozen = [path for path in paths if not _may_change(path, rules)]
    if not frozen:
        return cluster.scale(kind, merged) if paths == [rules.scale] else cluster.replace(kind, merged)
    if recreate:
        return _recreate(cluster, kind, live, wanted)
    metadata = wanted["metadata"]
    raise GangError(
        f"{kind.call(metadata.get('namespace'), metadata['name'])} in {cluster.name}: {', '.join(frozen)} cannot change on"
        f" a live {kind.kind}; set on_immutable to recreate to have it deleted and created again"
    )


def remove(cluster: Cluster, kind: Kind, name: str, namespace: str | None = None, *, pods: str = "") -> Change:
    """Delete the object if it is there, and wait until it is gone (not in check mode).

    Args:
        cluster: where.
        kind: of the object.
        name: of the object.
        namespace: of the object.
        pods: label selector of its pods, which are waited for too: their GPUs are not free before.
    """
    live = cluster.get(kind, name, namespace) if cluster.serves(kind) else None
    change = Change(live, None)
    if live is not None:
        if "deletionTimestamp" not in live["metadata"]:
            cluster.delete(kind, live)
        if not cluster.dry_run:
            _wait_gone(cluster, kind, live)
    if pods and not cluster.dry_run:
        wait_no_pods(
            cluster, f"{kind.kind} {namespace}/{name} in {cluster.name} is deleted", namespace, pods, change.changed
        )
    return change


def wait_no_pods(cluster: Cluster, after: str, namespace: str | None, labels: str, changed: bool) -> None:
    """Wait until no pod with these labels is left.

    Args:
        cluster: where.
        after: what was done to the object that the pods belong to, for the message.
        namespace: of the pods.
        labels: selector of the pods.
        changed: whether the task has changed something, for the result of a failure.

    Raises:
        GangError: some are still there at the cluster's deadline.
    """
    with Wake(cluster, [Source(POD, namespace, labels=labels)]) as wake:
        left, outcome = wait_until(
            lambda: cluster.table(POD, namespace, labels=labels), _none_left, wake, cluster.deadline
        )
    if not outcome.satisfied:
        names = [row.metadata["name"] for row in left]
        raise GangError(
            f"{after}, but {len(names)} of its pods are still there: {some(names, _NAMED_PODS)}", changed=changed
        )


def _none_left(rows: list[Row]) -> Outcome:
    return Outcome(not rows)


def _settled(cluster: Cluster, kind: Kind, name: str, namespace: str | None) -> Object | None:
    """The live object; one that is on its way out is waited for, since it takes no change any more."""
    live = cluster.get(kind, name, namespace)
    if live is None or "deletionTimestamp" not in live["metadata"]:
        return live
    if not cluster.dry_run:
        _wait_gone(cluster, kind, live)
    return None


def _recreate(cluster: Cluster, kind: Kind, live: Object, wanted: Object) -> Object:
    if cluster.dry_run:
        # A dry-run create would meet the object that a dry-run delete left there.
        return wanted
    # The pods of the old one bear the names of the new one's, and hold its GPUs.
    cluster.delete(kind, live, dependants_first=True)
    _wait_gone(cluster, kind, live)
    try:
        return cluster.create(kind, wanted)
    except ApiError as error:
        if error.conflict:
            raise  # It is there: the caller looks whether it is ours.
        raise GangError(f"{error.message}; the old one is deleted already", changed=True) from error


def _wait_gone(cluster: Cluster, kind: Kind, obj: Object) -> None:
    metadata = obj["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace")

    def judge(now: Object | None) -> Outcome:
        return Outcome(now is None or now["metadata"]["uid"] != metadata["uid"])

    left, outcome = wait_on(cluster, kind, name, namespace, judge)
    if not outcome.satisfied:
        keepers = (left or obj)["metadata"].get("finalizers")
        raise GangError(
            f"{kind.call(namespace, name)} in {cluster.name} is being deleted but not gone"
            + (f"; finalizers {', '.join(keepers)}" if keepers else ""),
            changed=True,
        )


def merge(wanted: t.Any, stored: t.Any, rules: Rules = Rules(), path: Path = ()) -> t.Any:
    """The stored value with the wanted one laid over it. Where both mean the same, the stored spelling stays.

    Mappings keep stored keys that are not wanted (defaults that a webhook filled in), unless the rules call them
    whole. Lists are given whole; their items are matched by name where all have one, else by place.
    """
    if wanted is None:
        return stored
    if isinstance(wanted, dict) and isinstance(stored, dict):
        return _merge_mappings(wanted, stored, rules, path)
    if isinstance(wanted, list) and isinstance(stored, list):
        return [merge(item, other, rules, path + (f"[{label}]",)) for label, item, other in _pairs(wanted, stored)]
    return stored if same(wanted, stored, path) else wanted


def _merge_mappings(wanted: Object, stored: Object, rules: Rules, path: Path) -> Object:
    whole = any(_matches(dotted(path), pattern) for pattern in rules.whole)
    merged = {} if whole else dict(stored)
    for key, value in wanted.items():
        if key in stored:
            merged[key] = merge(value, stored[key], rules, path + (key,))
        elif value or (value is not None and key not in _DROPPED_WHEN_ZERO):
            merged[key] = value
    return merged


def _pairs(wanted: list[t.Any], stored: list[t.Any]) -> list[tuple[str, t.Any, t.Any]]:
    """Each wanted item with the stored one that it stands for (None: there is none)."""
    if _have_names(wanted) and _have_names(stored):
        by_name = {item["name"]: item for item in stored}
        return [(item["name"], item, by_name.get(item["name"])) for item in wanted]
    padded = stored + [None] * len(wanted)
    return [(str(place), item, other) for place, (item, other) in enumerate(zip(wanted, padded))]


def _have_names(items: list[t.Any]) -> bool:
    """Whether a name tells each item from the others."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    return all(name and isinstance(name, str) for name in names) and len(set(names)) == len(names)


def same(wanted: t.Any, stored: t.Any, path: Path = ()) -> bool:
    """Whether two scalars mean the same to the API: templating makes text of numbers, YAML makes numbers of text."""
    if wanted == stored and isinstance(wanted, bool) == isinstance(stored, bool):
        return True
    if is_amount(path):
        return _same_amount(wanted, stored)
    if isinstance(stored, bool) or isinstance(wanted, bool):
        return str(wanted).lower() == str(stored).lower()
    if isinstance(stored, (int, str)) and isinstance(wanted, (int, str)):
        return str(wanted) == str(stored)
    return False


def is_amount(path: Path) -> bool:
    """Whether the field at this path holds a quantity."""
    return len(path) > 1 and (path[-2] in _RESOURCE_LISTS or path[-1] == "sizeLimit")


def _same_amount(wanted: t.Any, stored: t.Any) -> bool:
    try:
        return quantity(str(wanted)) == quantity(str(stored))
    except ValueError:
        return False


def differing(before: t.Any, after: t.Any, path: Path = ()) -> list[str]:
    """The dotted paths at which two values differ, for example ``spec.tasks[worker].replicas``."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = list(dict.fromkeys([*before, *after]))
        found = (differing(before.get(key), after.get(key), path + (key,)) for key in keys)
        return [one for paths in found for one in paths]
    if isinstance(before, list) and isinstance(after, list):
        pairs = _pairs(after, before)
        if len(before) == len(after) and all(other is not None for _label, _item, other in pairs):
            found = (differing(other, item, path + (f"[{label}]",)) for label, item, other in pairs)
            return [one for paths in found for one in paths] or ([] if before == after else [dotted(path)])
    return [] if before == after else [dotted(path)]


def dotted(path: Path) -> str:
    """How messages spell a field's path, for example ``spec.tasks[worker].replicas``."""
    return ".".join(path).replace(".[", "[")


def _may_change(path: str, rules: Rules) -> bool:
    if any(_matches(path, pattern, below=True) for pattern in rules.immutable):
        return False
    return rules.mutable is None or any(_matches(path, pattern, below=True) for pattern in rules.mutable)


def _matches(path: str, pattern: str, below: bool = False) -> bool:
    """Whether a dotted path is what the pattern names or, with ``below``, lies in it."""
    expression = re.escape(pattern).replace(r"\[\*\]", r"\[[^\]]*\]") + (r"(?:[.\[].*)?" if below else "")
    return re.fullmatch(expression, path) is not None
