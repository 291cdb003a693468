# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server writes into its audit log: enough to prove that a task wrote nothing, or read little."""

from __future__ import annotations

_OUR_GROUPS = (
    "batch.volcano.sh",
    "bus.volcano.sh",
    "flow.volcano.sh",
    "nodeinfo.volcano.sh",
    "scheduling.volcano.sh",
    "topology.volcano.sh",
    "leaderworkerset.x-k8s.io",
)
_WRITES = ["create", "update", "patch", "delete", "deletecollection"]

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    # One line for each request, when it is answered.
    "omitStages": ["RequestReceived"],
    "rules": [
        # Every node renews its lease every few seconds: nothing but noise.
        {"level": "None", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
        {"level": "Metadata", "verbs": _WRITES},
        {"level": "Metadata", "resources": [{"group": group} for group in _OUR_GROUPS]},
        {"level": "Metadata", "verbs": ["get", "list"], "resources": [{"group": "", "resources": ["pods"]}]},
        {"level": "None"},
    ],
}
