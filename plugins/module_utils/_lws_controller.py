# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""What keeps LWS's controller from making PodGroups. It says so in its own log and nowhere else."""

from __future__ import annotations

from ansible_collections.kubegang.core.plugins.module_utils._cluster import (
    ACCESS_REVIEW,
    POD,
    PODGROUP,
    SERVICE,
    VALIDATING_WEBHOOKS,
    Cluster,
)

# The same name in the chart and in the plain manifest. Whoever serves it is the controller, however it was installed.
_WEBHOOKS = "lws-validating-webhook-configuration"
_WEBHOOK = "vleaderworkerset.kb.io"
# It caches PodGroups, which takes list and watch, looks one up and creates it.
_VERBS = ("create", "get", "list", "watch")


def missing_rights(cluster: Cluster) -> str:
    """Which rights on PodGroups LWS's controller lacks, in words; empty when none, or when it is not found.

    Raises:
        ApiError: these credentials may not look into it.
    """
    account = _service_account(cluster)
    refused = [verb for verb in _VERBS if account and not _may(cluster, account, verb)]
    if not refused:
        return ""
    return f"LWS's controller ({account}) may not {', '.join(refused)} {PODGROUP.plural}.{PODGROUP.group}"


def _service_account(cluster: Cluster) -> str:
    """The user name of LWS's controller; empty when no pod serves LWS's webhook."""
    found = cluster.get(VALIDATING_WEBHOOKS, _WEBHOOKS) or {}
    served = [hook["clientConfig"] for hook in found.get("webhooks") or () if hook["name"] == _WEBHOOK]
    where = served[0].get("service") if served else None
    service = cluster.get(SERVICE, where["name"], where["namespace"]) if where else None
    if not service or not where:
        return ""
    labels = ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
    pods = cluster.list(POD, where["namespace"], labels=labels)
    return f"system:serviceaccount:{where['namespace']}:{pods[0]['spec']['serviceAccountName']}" if pods else ""


def _may(cluster: Cluster, user: str, verb: str) -> bool:
    attributes = {"verb": verb, "group": PODGROUP.group, "resource": PODGROUP.plural}
    review = {
        "apiVersion": ACCESS_REVIEW.api_version,
        "kind": ACCESS_REVIEW.kind,
        "metadata": {},
        "spec": {"user": user, "resourceAttributes": attributes},
    }
    return cluster.create(ACCESS_REVIEW, review)["status"]["allowed"]
