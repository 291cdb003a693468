# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""A gang: a PodGroup and the pods that name it. One concept for Volcano Jobs (one gang) and LWS (one gang per replica).

``read`` takes one cheap look, however many pods there are; ``_judge`` says what it means, ``_explain`` why.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.kubegang.core.plugins.module_utils._change import Object
from ansible_collections.kubegang.core.plugins.module_utils._cluster import (
    JOB,
    LWS,
    NAMESPACE,
    NODE,
    POD,
    PODGROUP,
    Cluster,
    Row,
)
from ansible_collections.kubegang.core.plugins.module_utils._errors import ApiError, GangError
from ansible_collections.kubegang.core.plugins.module_utils._lws import (
    GROUP_LABEL,
    NAME_LABEL,
    QUEUE_ANNOTATION,
    REVISION_LABEL,
    SIZE_ANNOTATION,
    WORKER_LABEL,
)
from ansible_collections.kubegang.core.plugins.module_utils._volcano import FINAL_PHASES, job_phase, task_minimum
from ansible_collections.kubegang.core.plugins.module_utils._wait import Source

GROUP_NAME = "scheduling.k8s.io/group-name"
JOB_NAME = "volcano.sh/job-name"
TASK_NAME = "volcano.sh/task-spec"

KINDS = {kind.kind: kind for kind in (JOB, LWS, PODGROUP)}
# The options of the doc fragment kubegang.core._target.
TARGET_SPEC: dict[str, t.Any] = {
    "kind": {"type": "str", "choices": list(KINDS)},
    "name": {"type": "str"},
    "namespace": {"type": "str", "default": "default"},
    "label_selectors": {"type": "list", "elements": "str"},
}
TARGET_EXCLUSIVE = [("name", "label_selectors")]
# The end of a Job, as far as an assertion is concerned; an Aborted one starts again only when somebody resumes it.
_DEAD = frozenset(FINAL_PHASES) - {"Completed"}


@dataclass(frozen=True)
class Target:
    """Which gangs are meant: those of one object, of all objects with these labels, or of a whole namespace.

    An empty ``kind`` means every kind.
    """

    kind: str
    namespace: str
    name: str = ""
    labels: str = ""

    @classmethod
    def of(cls, params: dict[str, t.Any]) -> Target:
        """What the options of ``TARGET_SPEC`` name."""
        kind = params["kind"] or ("Job" if params["name"] else "")
        return cls(kind, params["namespace"], params["name"] or "", ",".join(params["label_selectors"] or ()))

    def __str__(self) -> str:
        if self.name:
            return f"{self.kind} {self.namespace}/{self.name}"
        labelled = f" with labels {self.labels}" if self.labels else ""
        return f"{self.kind or 'gang'}{labelled} in namespace {self.namespace}"

    @property
    def pods(self) -> str:
        """The label selector that every pod of these gangs matches; empty where only reading all of them will do."""
        label = {"Job": JOB_NAME, "LeaderWorkerSet": NAME_LABEL}.get(self.kind)
        return f"{label}={self.name}" if label and self.name else ""

    @property
    def sources(self) -> list[Source]:
        """What to listen to. PodGroups change at every turn of the scheduler: they wake only if nothing else can."""
        pods = Source(POD, self.namespace, labels=self.pods)
        if self.pods:
            return [pods, Source(KINDS[self.kind], self.namespace, fields=f"metadata.name={self.name}")]
        return [pods, Source(PODGROUP, self.namespace)]


@dataclass(frozen=True)
class Member:
    """A pod of a gang, from its row in the Table form.

    Attributes:
        status: the word that ``kubectl get pods`` prints.
        ended: ``Succeeded``, ``Failed`` or empty.
        ready: whether each of its containers is ready.
        leaving: whether it is being deleted. Such a pod counts for nothing.
    """

    name: str
    node: str = ""
    status: str = ""
    ended: str = ""
    ready: bool = False
    leaving: bool = False
    task: str = ""

    @property
    def bound(self) -> bool:
        return bool(self.node) and not self.leaving

    @property
    def running(self) -> bool:
        return self.status in ("Running", "NotReady") and not self.ended and not self.leaving

    @classmethod
    def of(cls, row: Row) -> Member:
        ready, _slash, containers = str(row.cells["ready"]).partition("/")
        node = row.cells["node"]
        return cls(
            name=row.metadata["name"],
            node="" if node == "<none>" else node,
            status=row.cells["status"],
            ended=row.ended,
            ready=row.cells["status"] == "Running" and ready == containers,
            leaving="deletionTimestamp" in row.metadata,
            task=row.metadata.get("labels", {}).get(TASK_NAME, ""),
        )


@dataclass(frozen=True)
class Gang:
    """Pods that run together or not at all.

    Attributes:
        kind: what it was made for: Job, LeaderWorkerSet, or PodGroup when it stands for itself.
        workload: name of the Job or LeaderWorkerSet that it belongs to; empty for a PodGroup of its own.
        owner: that object, where it was read.
        podgroup: the PodGroup; None before it is made, and between the lives of an LWS group.
        size: how many pods an LWS group has; 0 for other gangs, whose PodGroup says how many they need.
        group_name: the PodGroup that its pods name, made or not; empty where LWS makes no gangs.
        index: of an LWS group.
        revision: hash of the template that the pods of an LWS group were made from; empty where it has no leader.
        updated: whether that is the newest template.
    """

    name: str
    namespace: str
    kind: str
    members: t.Sequence[Member] = ()
    podgroup: Object | None = None
    workload: str = ""
    owner: Object | None = None
    size: int = 0
    group_name: str = ""
    index: int = 0
    revision: str = ""
    updated: bool = True

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def dead(self) -> bool:
        return self.job_phase in _DEAD

    @property
    def phase(self) -> str:
        """Phase of the PodGroup; empty as long as no scheduler has looked at it."""
        return dig(self.podgroup, "status", "phase", default="")

    @property
    def job_phase(self) -> str:
        return job_phase(self.owner) if self.kind == "Job" and self.owner else ""

    @property
    def queue(self) -> str:
        """The queue of the PodGroup, or the one that it will be made for."""
        if self.kind == "LeaderWorkerSet" and self.podgroup is None:
            return dig(self.owner, "metadata", "annotations", QUEUE_ANNOTATION, default="default")
        return dig(self.podgroup or self.owner, "spec", "queue", default="")

    @property
    def min_member(self) -> int:
        from_owner = dig(self.owner, "spec", "minAvailable", default=self.size)
        return dig(self.podgroup, "spec", "minMember", default=from_owner)

    @property
    def needed(self) -> int:
        """How many pods must run. LWS with LeaderReady lowers minMember to 1, yet what its users want is the group."""
        return max(self.min_member, self.size)

    @property
    def bound(self) -> int:
        return sum(member.bound for member in self.members)

    @property
    def nodes(self) -> list[str]:
        return sorted({member.node for member in self.members if member.bound})

    @property
    def running(self) -> int:
        return sum(member.running for member in self.members)

    @property
    def ready(self) -> int:
        return sum(member.running and member.ready for member in self.members)

    @property
    def succeeded(self) -> int:
        return sum(member.ended == "Succeeded" for member in self.members)

    @property
    def failed(self) -> int:
        return sum(member.ended == "Failed" for member in self.members)

    @property
    def finished(self) -> bool:
        if self.kind == "Job":
            return self.job_phase == "Completed"
        return bool(self.members) and self.succeeded == len(self.members)

    @property
    def whole(self) -> bool:
        """Enough of its pods run and are ready, or have done their work while others still run."""
        return self.ready > 0 and self.ready + self.succeeded >= self.needed

    @property
    def tasks(self) -> dict[str, dict[str, int]]:
        """Per task of a Volcano Job: what it wants and what it has."""
        return {task["name"]: self._task(task) for task in dig(self.owner, "spec", "tasks", default=())}

    def _task(self, task: Object) -> dict[str, int]:
        members = [member for member in self.members if member.task == task["name"]]
        return {
            "replicas": task.get("replicas", 1),
            "min_available": task_minimum(task),
            "pods": len(members),
            "running": sum(member.running for member in members),
            "ready": sum(member.running and member.ready for member in members),
            "succeeded": sum(member.ended == "Succeeded" for member in members),
            "failed": sum(member.ended == "Failed" for member in members),
        }

    @property
    def facts(self) -> dict[str, t.Any]:
        """What the modules return of it, members apart."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "kind": self.kind,
            "workload": self.workload,
            "workload_phase": self.job_phase,
            "podgroup": dig(self.podgroup, "metadata", "name", default=""),
            "queue": self.queue,
            "phase": self.phase,
            "min_member": self.min_member,
            "needed": self.needed,
            "pods": len(self.members),
            "bound": self.bound,
            "running": self.running,
            "ready": self.ready,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "nodes": self.nodes,
            "revision": self.revision,
            "updated": self.updated,
            "tasks": self.tasks,
        }


@dataclass(frozen=True)
class Snapshot:
    """One look.

    Attributes:
        found: whether the target is there at all, gangs or not.
        nodes: the labels of each node, where they were asked for.
    """

    target: Target
    found: bool
    gangs: t.Sequence[Gang] = ()
    nodes: t.Mapping[str, t.Mapping[str, str]] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, t.Any]:
        """What the modules return of it."""
        return {
            "gangs": [gang.facts for gang in self.gangs],
            "groups": len(self.gangs),
            "updated_groups": sum(gang.updated for gang in self.gangs),
        }


def dig(obj: t.Any, *path: str, default: t.Any = None) -> t.Any:
    """The value at a path of keys, or the default when any step is missing or null."""
    for key in path:
        obj = (obj or {}).get(key)
    return default if obj is None else obj


def natural(name: str) -> list[t.Any]:
    """A sorting key under which worker-2 comes before worker-10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


# --- reading ---------------------------------------------------------------------------------------------------------


def read(cluster: Cluster, target: Target, *, node_labels: bool = False) -> Snapshot:
    """One fresh look: the workload, its PodGroups and one table of pods, however many pods there are."""
    found, gangs = (_READERS[target.kind] if target.name else _read_many)(cluster, target)
    nodes = {row.metadata["name"]: row.metadata.get("labels", {}) for row in cluster.table(NODE)} if node_labels else {}
    return Snapshot(target, found, gangs, nodes)


def _read_job(cluster: Cluster, target: Target) -> tuple[bool, list[Gang]]:
    job = cluster.get(JOB, target.name, target.namespace)
    if job is None:
        return False, []
    podgroup = cluster.get(PODGROUP, _podgroup_name(job), target.namespace)
    return True, [job_gang(job, podgroup, cluster.table(POD, target.namespace, labels=target.pods))]


def _read_lws(cluster: Cluster, target: Target) -> tuple[bool, list[Gang]]:
    lws = cluster.get(LWS, target.name, target.namespace)
    if lws is None:
        return False, []
    podgroups = cluster.list(PODGROUP, target.namespace, labels=target.pods)
    return True, lws_gangs(lws, podgroups, cluster.table(POD, target.namespace, labels=target.pods))


def _read_podgroup(cluster: Cluster, target: Target) -> tuple[bool, list[Gang]]:
    """A PodGroup that was made for a Job or an LWS is read with it: its end, its size and its tasks are known there."""
    podgroup = cluster.get(PODGROUP, target.name, target.namespace)
    if podgroup is None:
        return False, []
    kind, workload = _workload(podgroup)
    if kind:
        _found, gangs = _READERS[kind](cluster, Target(kind, target.namespace, workload))
        gangs = _only(gangs, [podgroup])
        if gangs:
            return True, gangs
    return True, [podgroup_gang(podgroup, cluster.table(POD, target.namespace))]


_READERS = {"Job": _read_job, "LeaderWorkerSet": _read_lws, "PodGroup": _read_podgroup}


def _read_many(cluster: Cluster, target: Target) -> tuple[bool, list[Gang]]:
    """The gangs of all objects of the target's kind with its labels; of every kind when it names none."""
    namespace, kind = target.namespace, target.kind
    podgroups = cluster.list(PODGROUP, namespace)
    rows = cluster.table(POD, namespace)
    wanted = cluster.list(PODGROUP, namespace, labels=target.labels) if target.labels else podgroups
    labels = "" if kind == "PodGroup" else target.labels
    gangs: list[Gang] = []
    if kind != "LeaderWorkerSet":
        by_name = {podgroup["metadata"]["name"]: podgroup for podgroup in podgroups}
        jobs = cluster.list(JOB, namespace, labels=labels)
        gangs += [job_gang(job, by_name.get(_podgroup_name(job)), rows) for job in jobs]
    # Not every cluster has LWS. Where it was asked for, that it is missing is an error.
    if kind == "LeaderWorkerSet" or (kind != "Job" and cluster.serves(LWS)):
        for lws in cluster.list(LWS, namespace, labels=labels):
            gangs += lws_gangs(lws, podgroups, rows)
    if kind in ("", "PodGroup"):
        known = {dig(gang.podgroup, "metadata", "uid") for gang in gangs}
        alone = [podgroup_gang(group, rows) for group in wanted if group["metadata"]["uid"] not in known]
        gangs = (_only(gangs, wanted) if kind else gangs) + alone
    return bool(gangs), gangs


def _only(gangs: t.Iterable[Gang], podgroups: t.Iterable[Object]) -> list[Gang]:
    wanted = {podgroup["metadata"]["uid"] for podgroup in podgroups}
    return [gang for gang in gangs if dig(gang.podgroup, "metadata", "uid") in wanted]


def require_namespace(cluster: Cluster, target: Target) -> None:
    """Say that the namespace is missing rather than wait for something in it.

    Raises:
        GangError: it is.
    """
    try:
        namespace = cluster.get(NAMESPACE, target.namespace)
    except ApiError as error:
        if error.status == 403:
            return  # These credentials see into namespaces, but not which there are.
        raise
    if namespace is None:
        raise GangError(f"{target} cannot be found: namespace {target.namespace} does not exist in {cluster.name}")


# --- from objects to gangs, pure -------------------------------------------------------------------------------------


def job_gang(job: Object, podgroup: Object | None, rows: t.Iterable[Row]) -> Gang:
    """The one gang of a Volcano Job."""
    metadata = job["metadata"]
    mine = [row for row in rows if _labels(row).get(JOB_NAME) == metadata["name"] and _made_by(job, row)]
    return Gang(
        name=metadata["name"],
        namespace=metadata["namespace"],
        kind="Job",
        members=_members(mine),
        podgroup=podgroup,
        workload=metadata["name"],
        owner=job,
    )


def lws_gangs(lws: Object, podgroups: t.Iterable[Object], rows: t.Iterable[Row]) -> list[Gang]:
    """The gangs of a LeaderWorkerSet, one per wanted replica, whether it has pods yet or not.

    Surplus groups (of a rolling update, or on their way out) are nobody's expectation and left out.
    """
    metadata = lws["metadata"]
    # Pods and LWS are linked by two StatefulSets; that none of its pods is older than an object tells its lives apart.
    mine = [row for row in rows if _labels(row).get(NAME_LABEL) == metadata["name"] and not _older(row, metadata)]
    by_group: dict[str, list[Row]] = {}
    for row in mine:
        by_group.setdefault(_labels(row).get(GROUP_LABEL, ""), []).append(row)
    by_name = {
        group["metadata"]["name"]: group
        for group in podgroups
        if dig(group, "metadata", "labels", NAME_LABEL) == metadata["name"]
    }
    newest = _newest_revision(lws, mine)
    replicas = dig(lws, "spec", "replicas", default=1)
    return [_lws_gang(lws, index, newest, by_name, by_group.get(str(index), [])) for index in range(replicas)]


def _newest_revision(lws: Object, rows: list[Row]) -> str:
    """The template that a roll-out goes to, if any group has been made from it yet; empty otherwise.

    LWS replaces groups from the highest index down, surplus ones included, and makes new ones from the newest template.
    """
    if not dig(lws, "status", "updatedReplicas", default=0):
        return ""
    leaders = [row for row in rows if _is_leader(row)]
    last = max(leaders, key=lambda row: int(_labels(row)[GROUP_LABEL]), default=None)
    return _labels(last).get(REVISION_LABEL, "") if last else ""


def _lws_gang(lws: Object, index: int, newest: str, podgroups: dict[str, Object], rows: list[Row]) -> Gang:
    mine = rows
    leader = next((row for row in rows if _is_leader(row)), None)
    revision = _labels(leader).get(REVISION_LABEL, "") if leader else ""
    if leader:
        # Workers are made for one leader and go with it: older ones, or those of another template, are on their way out.
        mine = [
            row
            for row in rows
            if not _older(row, leader.metadata) and _labels(row).get(REVISION_LABEL, revision) == revision
        ]
    named = next((dig(row.metadata, "annotations", GROUP_NAME, default="") for row in [leader, *mine] if row), "")
    sizes = {dig(row.metadata, "annotations", SIZE_ANNOTATION) for row in mine} - {None}
    metadata = lws["metadata"]
    return Gang(
        name=f"{metadata['name']}-{index}",
        namespace=metadata["namespace"],
        kind="LeaderWorkerSet",
        members=_members(mine),
        podgroup=podgroups.get(named),
        workload=metadata["name"],
        owner=lws,
        # While a new size is rolled out, each group has the size that its own pods were made with.
        size=int(max(sizes, key=int)) if sizes else dig(lws, "spec", "leaderWorkerTemplate", "size", default=1),
        group_name=named,
        index=index,
        revision=revision,
        updated=bool(newest) and revision == newest,
    )


def _is_leader(row: Row) -> bool:
    return _labels(row).get(WORKER_LABEL) == "0"


def _older(row: Row, than: Object) -> bool:
    """Whether an object was made before another one, given by its metadata."""
    return row.metadata.get("creationTimestamp", "") < than.get("creationTimestamp", "")


def podgroup_gang(podgroup: Object, rows: t.Iterable[Row]) -> Gang:
    """The gang of a PodGroup that no Job and no LWS of today accounts for."""
    metadata = podgroup["metadata"]
    mine = [row for row in rows if dig(row.metadata, "annotations", GROUP_NAME) == metadata["name"]]
    return Gang(
        name=metadata["name"],
        namespace=metadata["namespace"],
        kind="PodGroup",
        members=_members(mine),
        podgroup=podgroup,
        workload=_workload(podgroup)[1],
    )


def _workload(podgroup: Object) -> tuple[str, str]:
    """Kind and name of what a PodGroup was made for; two empty words when it stands for itself."""
    lws = dig(podgroup, "metadata", "labels", NAME_LABEL)
    if lws:
        return "LeaderWorkerSet", lws
    for owner in dig(podgroup, "metadata", "ownerReferences", default=()):
        if (owner["kind"], owner["apiVersion"].partition("/")[0]) == (JOB.kind, JOB.group):
            return "Job", owner["name"]
    return "", ""


def _podgroup_name(job: Object) -> str:
    return f"{job['metadata']['name']}-{job['metadata'].get('uid')}"


def _made_by(job: Object, row: Row) -> bool:
    """Whether a pod is of this very Job: its name alone may stand for an earlier one, whose pods are still leaving."""
    controllers = [owner for owner in row.metadata.get("ownerReferences", ()) if owner.get("controller")]
    if controllers:
        return controllers[0]["uid"] == job["metadata"].get("uid")
    return dig(row.metadata, "annotations", GROUP_NAME, default=_podgroup_name(job)) == _podgroup_name(job)


def _labels(row: Row) -> dict[str, str]:
    return row.metadata.get("labels", {})


def _members(rows: t.Iterable[Row]) -> tuple[Member, ...]:
    return tuple(sorted(map(Member.of, rows), key=lambda member: natural(member.name)))
