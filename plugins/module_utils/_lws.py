# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""The LeaderWorkerSet kind: options → manifest, which fields are immutable, what its API accepts. Pure functions.

Upstream names are those of leaderworkerset.x-k8s.io/v1; how LWS makes gangs of its groups is KEP-407.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.kubegang.core.plugins.module_utils._change import Object, Rules
from ansible_collections.kubegang.core.plugins.module_utils._cluster import LWS
from ansible_collections.kubegang.core.plugins.module_utils._errors import OptionError
from ansible_collections.kubegang.core.plugins.module_utils._manifest import camel, from_definition, manifest

# Labels and an annotation that LWS gives its pods.
NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"
GROUP_LABEL = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_LABEL = "leaderworkerset.sigs.k8s.io/worker-index"
REVISION_LABEL = "leaderworkerset.sigs.k8s.io/template-revision-hash"
SIZE_ANNOTATION = "leaderworkerset.sigs.k8s.io/size"
# Annotations of the LeaderWorkerSet itself. LWS reads the queue nowhere else.
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
EXCLUSIVE_ANNOTATION = "leaderworkerset.sigs.k8s.io/exclusive-topology"

LWS_RULES = Rules(
    immutable=(
        # The webhook lets subgroups neither come, go nor change their size.
        "spec.leaderWorkerTemplate.subGroupPolicy",
        # It lets claims change, but the StatefulSets that LWS makes of them do not: the change would never take place.
        "spec.leaderWorkerTemplate.volumeClaimTemplates",
    ),
    scale="spec.replicas",
)

_TEMPLATES = ("leaderTemplate", "workerTemplate")
# RFC 1035 label: a headless service bears the name of the LeaderWorkerSet.
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
# Pods carry the label controller-revision-hash, at most 63 characters: the name of their StatefulSet, a dash and up to
# ten digits of a hash, so that a longer name works for some templates and not for others. The StatefulSet of a group's
# workers is called <name>-<group index>.
_LONGEST_STATEFULSET = 63 - 1 - 10
_INT32_MAX = 2**31 - 1


def leader_worker_set(params: dict[str, t.Any]) -> Object:
    """The LeaderWorkerSet that the options of M(kubegang.core.leader_worker_set) describe.

    With a ``scheduler_name`` it is written into every pod template that names none, because LWS never sets it.

    Raises:
        OptionError: a value that LWS could not make groups of, before anything is sent.
    """
    if params.get("definition"):
        built = from_definition(LWS, params["definition"], params["name"], params["namespace"])
    else:
        metadata = {option: params[option] or None for option in ("labels", "annotations")}
        built = manifest(LWS, params["name"], params["namespace"], _spec(params), metadata)
    template = built["spec"].get("leaderWorkerTemplate")
    if not isinstance(template, dict) or not isinstance(template.get("workerTemplate"), dict):
        raise OptionError(
            "worker_template", None, "a pod template; the leader takes it too unless it has one of its own"
        )
    if template.get("restartPolicy") == "Default":
        # The deprecated word for None, which the webhook stores in its place.
        template["restartPolicy"] = "None"
    _annotate(built, params)
    if params["scheduler_name"]:
        _schedule(built, params["scheduler_name"])
    _check_name(built)
    _check_sizes(built["spec"])
    return built


def _spec(params: dict[str, t.Any]) -> Object:
    rollout, subgroups = params["rollout"], params["sub_group_policy"]
    subdomain = params["subdomain_policy"]
    same_name = ("size", "restart_policy", "leader_template", "worker_template", "volume_claim_templates")
    return {
        **camel({option: params[option] for option in ("replicas", "startup_policy")}),
        "leaderWorkerTemplate": {
            **camel({option: params[option] for option in same_name}),
            "subGroupPolicy": {"subGroupSize": subgroups["size"], "subGroupPolicyType": subgroups["type"]}
            if subgroups
            else None,
        },
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": camel(rollout)} if rollout else None,
        "networkConfig": {"subdomainPolicy": subdomain} if subdomain else None,
    }


def _annotate(built: Object, params: dict[str, t.Any]) -> None:
    """Lay the options that are annotations of the object over those that it has."""
    by_option = {QUEUE_ANNOTATION: params["queue"], EXCLUSIVE_ANNOTATION: params["exclusive_topology"]}
    given = {key: value for key, value in by_option.items() if value}
    if given:
        metadata = built["metadata"]
        metadata["annotations"] = {**metadata.get("annotations", {}), **given}


def templates(lws: Object) -> dict[str, Object]:
    """The pod templates of a LeaderWorkerSet, by the name of their field; the leader's only where it has its own."""
    template = lws["spec"]["leaderWorkerTemplate"]
    return {name: template[name] for name in _TEMPLATES if template.get(name)}


def _schedule(built: Object, scheduler: str) -> None:
    for name, template in templates(built).items():
        spec = template.setdefault("spec", {})
        if spec.setdefault("schedulerName", scheduler) != scheduler:
            raise OptionError(
                f"{name}.spec.schedulerName",
                spec["schedulerName"],
                f"{scheduler}, as option scheduler_name says: pods of one gang have one scheduler"
                " (an empty scheduler_name leaves the templates alone)",
            )


def _check_name(built: Object) -> None:
    name = built["metadata"]["name"]
    longest = _LONGEST_STATEFULSET - len(f"-{max(0, _most_groups(built['spec']) - 1)}")
    if not _LABEL.fullmatch(name):
        raise OptionError("name", name, "lower-case letters, digits and '-', beginning with a letter")
    if len(name) > longest:
        raise OptionError(
            "name",
            name,
            f"at most {longest} characters, it has {len(name)}: the API accepts it, but label"
            " controller-revision-hash of its workers may then be too long for them to be created",
        )


def _most_groups(spec: Object) -> int:
    """Groups at the height of a roll-out, when surplus ones come on top of the replicas."""
    replicas = spec.get("replicas", 1)
    return replicas + min(_amounts(spec)[1], replicas)


def _amounts(spec: Object) -> tuple[int, int]:
    """maxUnavailable and maxSurge as numbers of groups."""
    update = (spec.get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
    replicas = spec.get("replicas", 1)
    unavailable = _scaled(update.get("maxUnavailable", 1), replicas, up=False)
    return unavailable, _scaled(update.get("maxSurge", 0), replicas, up=True)


def _scaled(amount: int | str, whole: int, *, up: bool) -> int:
    """An IntOrString; a percentage is a share of the whole, rounded up or down."""
    if isinstance(amount, int):
        return amount
    hundredths = whole * int(amount.rstrip("%"))
    return -(-hundredths // 100) if up else hundredths // 100


def _check_sizes(spec: Object) -> None:
    """What the validating webhook would refuse, in terms of the options."""
    template, replicas = spec["leaderWorkerTemplate"], spec.get("replicas", 1)
    size = template.get("size", 1)
    if replicas < 0:
        raise OptionError("replicas", replicas, "0 or more")
    if size < 1:
        raise OptionError("size", size, "1 or more; it counts the leader too")
    if replicas * size > _INT32_MAX:
        raise OptionError("replicas", replicas, f"at most {_INT32_MAX // size} groups of size {size}")
    subgroups = template.get("subGroupPolicy")
    if subgroups:
        _check_subgroups(size, subgroups.get("subGroupSize"), subgroups.get("subGroupPolicyType"))
    if replicas and _amounts(spec) == (0, 0):
        raise OptionError(
            "rollout",
            "max_unavailable and max_surge of 0 groups",
            f"at least one of them 1 or more of {replicas} groups",
        )


def _check_subgroups(size: int, subgroup: int | None, policy: str | None) -> None:
    if subgroup is None or not 1 <= subgroup <= size:
        raise OptionError("sub_group_policy.size (subGroupSize)", subgroup, f"1 to the size of a group, {size}")
    workers = size - 1
    allowed = [workers] if policy == "LeaderExcluded" else [size, workers]
    if all(count % subgroup for count in allowed):
        parts = "size - 1" if policy == "LeaderExcluded" else "size or size - 1"
        raise OptionError(
            "sub_group_policy.size (subGroupSize)", subgroup, f"a number that divides {parts}; size is {size}"
        )


def doubts(built: Object, scheduler: str) -> list[str]:
    """What LWS accepts and the user hardly wants, as warnings."""
    return [*_template_doubts(built), *(_gang_doubts(built) if scheduler else [])]


def _template_doubts(built: Object) -> t.Iterator[str]:
    made = templates(built)
    for field in ("schedulerName", "priorityClassName"):
        values = {name: (template.get("spec") or {}).get(field) for name, template in made.items()}
        if len(set(values.values())) > 1:
            differing = ", ".join(f"{name} {value or 'none'}" for name, value in values.items())
            yield f"pods of one gang differ in {field}: {differing}"
    for name, template in made.items():
        if QUEUE_ANNOTATION in ((template.get("metadata") or {}).get("annotations") or {}):
            yield (
                f"annotation {QUEUE_ANNOTATION} in {name}.metadata has no effect: LWS reads it on the LeaderWorkerSet,"
                " where option queue puts it"
            )


def _gang_doubts(built: Object) -> t.Iterator[str]:
    spec = built["spec"]
    size = spec["leaderWorkerTemplate"].get("size", 1)
    if spec.get("startupPolicy") == "LeaderReady" and size > 1:
        yield (
            f"startup_policy LeaderReady lowers minMember of each gang from {size} to 1: the leader starts although"
            " its workers may have no room"
        )
    elif EXCLUSIVE_ANNOTATION in (built["metadata"].get("annotations") or {}) and size > 1:
        yield (
            "exclusive_topology keeps gangs from starting: LWS makes workers once their leader has a node, and a gang gives"
            " it one once its workers exist; startup_policy LeaderReady takes the leader out of that"
        )
    specs = [template.get("spec") or {} for template in templates(built).values()]
    classes = {spec["priorityClassName"] for spec in specs if spec.get("priorityClassName")}
    if classes:
        yield (
            f"priorityClassName {', '.join(sorted(classes))} does not reach the PodGroup, since LWS does not hand it on:"
            " as gangs, the groups have no priority over others"
        )
