# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd, the API server, controller manager, scheduler and kwok: the real programs, as kwokctl starts them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from . import audit, process
from .errors import LabError
from .kubectl import Kubectl
from .network import SERVICE_OF_KUBERNETES, SERVICE_RANGE, SIMULATED_POD_RANGE, Network, inside
from .place import Place

STAGES = Path(__file__).with_name("stages.yaml")
API_PORT = 6443
SIMULATED_NODE = ("kwok.x-k8s.io/node", "fake")
_CONFIG_API = "config.kwok.x-k8s.io/v1alpha1"
# Arguments that kwokctl sets itself, to something else.
_OVERRIDDEN = {"manage-all-nodes", "node-ip"}

_PROGRAMS = {
    "etcdBinary": "etcd",
    "kubeApiserverBinary": "kube-apiserver",
    "kubeControllerManagerBinary": "kube-controller-manager",
    "kubeSchedulerBinary": "kube-scheduler",
    "kwokControllerBinary": "kwok",
    "kubectlBinary": "kubectl",
}


_KWOK = {
    "apiVersion": _CONFIG_API,
    "kind": "KwokConfiguration",
    "options": {
        "cidr": SIMULATED_POD_RANGE,
        "podPlayStageParallelism": 16,
        "nodePlayStageParallelism": 16,
        "nodeLeaseParallelism": 16,
    },
}


class ControlPlane:
    def __init__(self, place: Place, network: Network) -> None:
        self._place = place
        self._network = network
        self._folder = place.folder / "kwok"
        self._cluster = self._folder / "clusters" / place.name
        self._pki = self._cluster / "pki"

    @property
    def authority(self) -> Path:
        """The certificate that every client's is signed by."""
        return self._pki / "ca.crt"

    @property
    def audit_log(self) -> Path:
        return self._cluster / "logs" / "audit.log"

    def start(self) -> None:
        """Comes back when the API server is ready."""
        self._folder.mkdir()
        kwokctl = [str(self._place.bin / "kwokctl"), "create", "cluster", "--name", self._place.name]
        log = self._place.log("kwokctl")
        creation = process.start(
            self._place,
            # Without --kubeconfig it would write into the one of the user.
            [*inside(self._place), *kwokctl, "--config", str(self._write_config()), "--kubeconfig", ""],
            log,
            env={"KWOK_WORKDIR": str(self._folder), "HOME": str(self._folder)},
        )
        process.finish(creation, "start the control plane", log)
        self._write_kubeconfig()
        if not Kubectl(self._place).is_served():
            raise LabError(f"the API server is not ready: see {self._cluster / 'logs/kube-apiserver.log'}")

    def _write_config(self) -> Path:
        """JSON documents, which are YAML, and the Stages."""
        policy = self._folder / "audit-policy.json"
        policy.write_text(json.dumps(audit.POLICY))
        config = self._folder / "kwokctl.yaml"
        parts = [json.dumps(part) + "\n" for part in (self._kwokctl(policy), _KWOK)]
        config.write_text("---\n".join([*parts, STAGES.read_text()]))
        return config

    def _kwokctl(self, policy: Path) -> dict:
        return {
            "apiVersion": _CONFIG_API,
            "kind": "KwokctlConfiguration",
            "options": {
                "runtime": "binary",
                **{option: str(self._place.bin / program) for option, program in _PROGRAMS.items()},
                "bindAddress": "0.0.0.0",
                "kubeApiserverPort": API_PORT,
                "kubeApiserverCertSANs": [SERVICE_OF_KUBERNETES, self._network.lab],
                "kubeAuditPolicy": str(policy),
                "kubeAuthorization": True,
                "kubeAdmission": True,
                # A gang of a thousand pods is a thousand binds and as many status changes.
                "disableQPSLimits": True,
                "nodeLeaseDurationSeconds": 40,
            },
            "componentsPatches": [_patch(name, arguments) for name, arguments in self._arguments().items()],
        }

    def _arguments(self) -> dict[str, dict[str, str]]:
        return {
            # Nothing of a lab outlives it, so nothing needs to be on the disk for good.
            "etcd": {"unsafe-no-fsync": "true"},
            "kube-apiserver": {
                "advertise-address": self._network.lab,
                "service-cluster-ip-range": SERVICE_RANGE,
                # Webhooks are dialled at their pod's address, whether kube-proxy has heard of it or not.
                "enable-aggregator-routing": "true",
                # For kubectl logs and exec: no resolver knows the nodes' names.
                "kubelet-preferred-address-types": "InternalIP,Hostname",
                "kubelet-client-certificate": str(self._pki / "admin.crt"),
                "kubelet-client-key": str(self._pki / "admin.key"),
            },
            # A sole instance that loses its lease on a busy machine ends itself, and nothing starts it again.
            "kube-controller-manager": {"leader-elect": "false"},
            "kube-scheduler": {"leader-elect": "false"},
            # The real node has a kubelet of its own.
            "kwok-controller": {
                "manage-all-nodes": "false",
                "manage-nodes-with-annotation-selector": "=".join(SIMULATED_NODE),
                "node-ip": self._network.lab,
            },
        }

    def _write_kubeconfig(self) -> None:
        """With the certificates inside, so that it can be copied; it works from the host's own network namespace."""

        def data(name: str) -> str:
            return base64.b64encode((self._pki / name).read_bytes()).decode()

        context = self._place.netns
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": context,
            "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
            "clusters": [
                {
                    "name": context,
                    "cluster": {
                        "server": f"https://{self._network.lab}:{API_PORT}",
                        "certificate-authority-data": data("ca.crt"),
                    },
                }
            ],
            "users": [
                {
                    "name": context,
                    "user": {"client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key")},
                }
            ],
        }
        # JSON is YAML, for every reader of kubeconfigs.
        self._place.kubeconfig.touch(mode=0o600)
        self._place.kubeconfig.write_text(json.dumps(config, indent=1))


def _patch(component: str, arguments: dict[str, str]) -> dict:
    extra = [{"key": key, "value": value, "override": key in _OVERRIDDEN} for key, value in arguments.items()]
    return {"name": component, "extraArgs": extra}
