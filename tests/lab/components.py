# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab's components are: the Go module each comes from and what is taken out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_COMPONENT_BASE = "k8s.io/component-base/version"


@dataclass(frozen=True)
class Component:
    """Programs, and files of their source, that come from one Go module at one version."""

    module: str
    programs: Mapping[str, str]  # program → its package inside the module
    files: Mapping[str, str] = field(default_factory=dict)  # name in the build → file or folder inside the module
    version_variables: tuple[str, ...] = ()  # Go variables that the version is written into


# In the order in which they are built: what a cluster needs to start comes first.
COMPONENTS: Mapping[str, Component] = {
    "etcd": Component("go.etcd.io/etcd/server/v3", {"etcd": ""}),
    "kubernetes": Component(
        "k8s.io/kubernetes",
        {
            "kube-apiserver": "cmd/kube-apiserver",
            "kube-controller-manager": "cmd/kube-controller-manager",
            "kube-scheduler": "cmd/kube-scheduler",
            "kubelet": "cmd/kubelet",
            "kube-proxy": "cmd/kube-proxy",
            "kubectl": "cmd/kubectl",
        },
        # Left alone, the server reports v0.0.0 and charts refuse it.
        version_variables=(f"{_COMPONENT_BASE}.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"),
    ),
    "kwok": Component("sigs.k8s.io/kwok", {"kwok": "cmd/kwok", "kwokctl": "cmd/kwokctl"}),
    "helm": Component(
        "helm.sh/helm/v3", {"helm": "cmd/helm"}, version_variables=("helm.sh/helm/v3/internal/version.version",)
    ),
    "volcano": Component(
        "volcano.sh/volcano",
        {
            "vc-scheduler": "cmd/scheduler",
            "vc-controller-manager": "cmd/controller-manager",
            "vc-webhook-manager": "cmd/webhook-manager",
        },
        files={
            "chart": "installer/helm/chart/volcano",
            "gen-admission-secret.sh": "installer/dockerfile/webhook-manager/gen-admission-secret.sh",
        },
        version_variables=("volcano.sh/volcano/pkg/version.Version",),
    ),
    "lws": Component("sigs.k8s.io/lws", {"lws-manager": "cmd"}, files={"chart": "charts/lws"}),
    # Ours: a device plugin on the kubelet's real API, without GPUs.
    "gpu-plugin-double": Component("kubegang.dev/lab/gpu-plugin-double", {"gpu-plugin-double": ""}),
}
