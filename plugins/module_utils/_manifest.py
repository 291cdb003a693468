# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""From task options to manifests: names in the API's spelling, values of the API's types. Pure functions."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.kubegang.core.plugins.module_utils._change import Object, Path, dotted, is_amount
from ansible_collections.kubegang.core.plugins.module_utils._cluster import Kind
from ansible_collections.kubegang.core.plugins.module_utils._errors import GangError, OptionError

# Fields that are integers in core/v1 and in Volcano's and LWS's kinds. Templating turns numbers into text, and the
# server refuses text there; the first refusal should come from us, naming the field, before anything is sent.
_INTEGERS = frozenset(
    """
    replicas size minAvailable minSuccess maxRetry ttlSecondsAfterFinished exitCode weight priority
    highestTierAllowed totalPartitions partitionSize minPartitions containerPort hostPort defaultMode
    activeDeadlineSeconds terminationGracePeriodSeconds runAsUser runAsGroup fsGroup initialDelaySeconds
    periodSeconds timeoutSeconds failureThreshold successThreshold tolerationSeconds subGroupSize partition
    """.split()
)
_BOOLEANS = frozenset(
    """
    reclaimable hostNetwork hostPID hostIPC readOnly optional privileged tty stdin automountServiceAccountToken
    enableServiceLinks shareProcessNamespace readOnlyRootFilesystem runAsNonRoot allowPrivilegeEscalation
    """.split()
)
# IntOrString fields: a number or a percentage.
_INT_OR_PERCENT = frozenset(("maxUnavailable", "maxSurge"))
# Below these every value is text: YAML's ``true`` and ``2024`` have to be written as "true" and "2024".
_TEXT_MAPS = frozenset(("labels", "annotations", "nodeSelector", "matchLabels"))
# Items of these lists are text, and so is the value of an environment variable.
_TEXT_LISTS = frozenset(("args", "command"))

_NO_NAME = "one of the options name and definition.metadata.name is needed"
# RFC 1123 subdomain, what metadata.name of our kinds has to be.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def manifest(kind: Kind, name: str, namespace: str | None, spec: Object, metadata: Object | None = None) -> Object:
    """An object of this kind. Parts of the spec that are None are left out; all values get the API's types."""
    identity: Object = {"name": name, **({"namespace": namespace} if kind.namespaced else {})}
    built = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {**(metadata or {}), **identity},
        "spec": spec,
    }
    return typed(without_none(built))


def from_definition(kind: Kind, definition: Object, name: str | None, namespace: str | None) -> Object:
    """The user's whole manifest, checked to be of this kind; name and namespace may stand in either place."""
    for key, allowed in (("apiVersion", kind.api_version), ("kind", kind.kind)):
        if definition.get(key, allowed) != allowed:
            raise OptionError(f"definition.{key}", definition[key], allowed)
    metadata = definition.get("metadata") or {}
    given = {"name": name, "namespace": namespace if kind.namespaced else None}
    for key, value in given.items():
        if value and metadata.get(key, value) != value:
            raise OptionError(f"definition.metadata.{key}", metadata[key], f"the same as option {key}: {value!r}")
    final_name = metadata.get("name") or name
    if not final_name:
        raise GangError(_NO_NAME)
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        raise OptionError("definition.spec", spec, "a mapping")
    return manifest(kind, final_name, metadata.get("namespace") or namespace, spec, metadata)


def named(params: t.Mapping[str, t.Any]) -> tuple[str, str]:
    """Name and namespace of the object that is meant, from the options or their definition."""
    identity = (params.get("definition") or {}).get("metadata") or {}
    name = params["name"] or identity.get("name")
    if not name:
        raise GangError(_NO_NAME)
    return name, identity.get("namespace") or params["namespace"]


def checked_name(option: str, name: str) -> str:
    """The name, if Kubernetes could have an object of it."""
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise OptionError(option, name, "lower-case letters, digits, '-' and '.', at most 253 characters")
    return name


def camel(options: t.Mapping[str, t.Any]) -> Object:
    """Option names in the API's spelling: ``min_available`` becomes ``minAvailable``. One level, values untouched."""
    return {_camel(key): value for key, value in options.items()}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def without_none(value: t.Any) -> t.Any:
    """The value without any mapping entry that is None, at every depth: an option that was not given."""
    if isinstance(value, dict):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_none(item) for item in value]
    return value


def typed(value: t.Any, path: Path = ()) -> t.Any:
    """The value with every known field in the type that the API wants.

    Raises:
        OptionError: a field that cannot be of its type; it names the field.
    """
    if isinstance(value, dict):
        return {str(key): typed(item, path + (str(key),)) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item, path + (f"[{place}]",)) for place, item in enumerate(value)]
    if _is_text(path) and value is not None:
        return _text(value)
    if is_amount(path):
        return str(value)
    if path and path[-1] in _INTEGERS:
        return _integer(value, path)
    if path and path[-1] in _INT_OR_PERCENT:
        return _int_or_percent(value, path)
    if path and path[-1] in _BOOLEANS:
        return _boolean(value, path)
    return value


def _is_text(path: Path) -> bool:
    """Whether the field at this path is text, whatever it looks like."""
    in_env = len(path) > 2 and path[-3] == "env" and path[-1] == "value"
    return in_env or (len(path) > 1 and path[-2] in _TEXT_MAPS | _TEXT_LISTS)


def _text(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _integer(value: t.Any, path: Path) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?(0|[1-9][0-9]*)", value.strip()):
        return int(value)
    raise OptionError(dotted(path), value, "a whole number, in decimal")


def _int_or_percent(value: t.Any, path: Path) -> int | str:
    text = str(value).strip()
    if re.fullmatch(r"[0-9]+%?", text):
        return text if text.endswith("%") else int(text)
    raise OptionError(dotted(path), value, "a number of groups or a percentage, such as 1 or 25%")


def _boolean(value: t.Any, path: Path) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise OptionError(dotted(path), value, "true or false")
