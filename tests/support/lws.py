# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of the role lws share: LeaderWorkerSet's own sources, a small LeaderWorkerSet, and looks at the controller."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.lab.build import cache_folder
from tests.lab.toolchain import Go
from tests.support.cluster import Kubectl

NAMESPACE = "lws-system"
DEPLOYMENT = ("-n", NAMESPACE, "deployment", "lws-controller-manager")
CONFIGMAP = ("-n", NAMESPACE, "configmap", "lws-manager-config")
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:lws-controller-manager"
DEFINITION = ("customresourcedefinition", "leaderworkersets.leaderworkerset.x-k8s.io")
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"


def sources(version: str) -> Path:
    """The folder of LeaderWorkerSet's Go module, which holds chart and manifests too."""
    found = Go(cache_folder())("mod", "download", "-json", f"sigs.k8s.io/lws@v{version}")
    return Path(json.loads(found)["Dir"])


def leader_worker_set(namespace: str, name: str, scheduler: str | None = None) -> dict[str, Any]:
    """One group of two pods that really run."""
    container = {
        "name": "main",
        "image": "docker.io/library/busybox:1.36",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
    }
    pod = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    template = {"spec": pod | ({"schedulerName": scheduler} if scheduler else {})}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}},
    }


def create(kubectl: Kubectl, obj: dict[str, Any]) -> None:
    """Create it, once the webhooks answer: Helm's own waiting ends before."""
    deadline = time.monotonic() + 60
    while True:
        try:
            kubectl("create", "-f", "-", stdin=json.dumps(obj))
            return
        except AssertionError as refused:
            if "failed calling webhook" not in str(refused) or time.monotonic() > deadline:
                raise
            time.sleep(1)


def await_running(kubectl: Kubectl, namespace: str, name: str) -> None:
    for pod in (f"{name}-0", f"{name}-0-1"):
        kubectl("wait", "-n", namespace, "pod", pod, "--for=create", "--timeout=60s")
        kubectl("wait", "-n", namespace, "pod", pod, "--for=condition=Ready", "--timeout=120s")


def uids(kubectl: Kubectl, namespace: str) -> dict[str, str]:
    """What an upgrade may not touch: LeaderWorkerSets, their PodGroups and pods."""
    kinds = "leaderworkersets.leaderworkerset.x-k8s.io,podgroups.scheduling.volcano.sh,pods"
    return {
        f"{each['kind']} {each['metadata']['name']}": each["metadata"]["uid"]
        for each in kubectl.items(kinds, "-n", namespace)
    }


def marks_pods(kubectl: Kubectl) -> bool:
    """Whether the running controller puts a gang's mark on a pod, seen in a dry run."""
    prefix = "leaderworkerset.sigs.k8s.io"
    labels = {"name": "look", "group-index": "0", "worker-index": "0", "template-revision-hash": "x"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "look-0",
            "namespace": "default",
            "labels": {f"{prefix}/{key}": value for key, value in labels.items()},
            "annotations": {f"{prefix}/size": "1"},
        },
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    made = json.loads(kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(pod)))
    return GROUP_ANNOTATION in made["metadata"]["annotations"]


def take_rights(kubectl: Kubectl) -> dict[str, list[dict[str, Any]]]:
    """Take the controller's rights on PodGroups from every role that grants them; their rules as they were, by role."""
    before: dict[str, list[dict[str, Any]]] = {}
    # The chart's own role, and the one of the role lws, which stands in where the chart's lacks them.
    for name in ("lws-manager-role", "kubegang-lws-gangs"):
        role = kubectl.get("clusterrole", name)
        if role:
            before[name] = role["rules"]
            give_rights(kubectl, {name: [rule for rule in role["rules"] if "podgroups" not in rule["resources"]]})
    deadline = time.monotonic() + 10
    while may_make_groups(kubectl):
        assert time.monotonic() < deadline, "the API server still grants PodGroups after 10 s"
        time.sleep(0.2)
    return before


def give_rights(kubectl: Kubectl, rules: dict[str, list[dict[str, Any]]]) -> None:
    for name, of_role in rules.items():
        kubectl("patch", "clusterrole", name, "--type=merge", "-p", json.dumps({"rules": of_role}))


def may_make_groups(kubectl: Kubectl) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": ACCOUNT,
            "resourceAttributes": {"verb": "create", "group": "scheduling.volcano.sh", "resource": "podgroups"},
        },
    }
    answer = json.loads(kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(review)))
    return bool(answer["status"]["allowed"])
