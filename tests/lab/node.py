# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real node: containerd, the kubelet and kube-proxy, on which pods really run.

They share a mount namespace in which /run, /var/log and /var/lib are the lab's own. So all of them keep their usual
paths, several labs do not meet, and nothing is mounted or left on the host: the kernel drops the mounts with the last
process.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import host, process
from .cgroup import Cgroup
from .errors import LabError
from .network import POD_RANGE, Network, inside
from .place import LABS, Place
from .shell import succeeds

NAME = "node-0"
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"

# The kubelet insists on these and would change the host's. It is shown files that already say what it wants.
_KERNEL_SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}

# Shared propagation comes last: earlier, the binds would become one peer group and repeat each other's mounts.
_OWN_MOUNTS = """
set -e
node=$1; labs=$2; shift 2
mkdir -p $node/var-lib${labs#/var/lib} $node/var-log
mount --rbind $labs $node/var-lib${labs#/var/lib}
mount --rbind $node/var-lib /var/lib
mount --bind $node/var-log /var/log
mount -t tmpfs -o mode=755 kubegang /run
for file in $(cd $node/sysctl && find . -type f); do
    if [ -e /proc/sys/$file ]; then mount --bind $node/sysctl/$file /proc/sys/$file; fi
done
mount --make-rshared /
exec "$@"
"""


@dataclass(frozen=True)
class Import:
    """Images on their way into the node."""

    _process: subprocess.Popen[bytes]
    _log: Path

    def finish(self) -> None:
        process.finish(self._process, "import the images", self._log)


class Node:
    def __init__(self, place: Place, network: Network) -> None:
        self._place = place
        self._network = network
        # In the lab's folder, which the mount namespace shows at its usual path.
        self._folder = place.folder / "node"

    def start_runtime(self) -> None:
        """containerd, in a mount namespace of its own that the others then join."""
        for setting, value in _KERNEL_SETTINGS.items():
            self._write(f"sysctl/{setting}", value + "\n")
        config = self._write("containerd.toml", self._containerd_config())
        self._write("cni/10-bridge.conflist", json.dumps(_BRIDGE, indent=1))
        process.start(
            self._place,
            [
                *inside(self._place),
                *["unshare", "--mount", "--propagation", "slave"],
                *["sh", "-c", _OWN_MOUNTS, "own-mounts", str(self._folder), str(LABS)],
                *["containerd", "--config", str(config)],
            ],
            self._place.log("containerd"),
        )
        process.wait_for("containerd", self._runtime_answers, 30, self._place.log("containerd"))

    def start_kubelet(self, authority: Path) -> None:
        """Registers the node; kube-proxy comes with it."""
        kubelet = self._write("kubelet.json", json.dumps(self._kubelet_config(authority), indent=1))
        flags = [f"--config={kubelet}", f"--kubeconfig={self._place.kubeconfig}"]
        self._start("kubelet", *flags, f"--hostname-override={NAME}", f"--node-ip={self._network.lab}")
        proxy = self._write("kube-proxy.json", json.dumps(self._proxy_config(), indent=1))
        self._start("kube-proxy", f"--config={proxy}")

    def import_images(self, archive: Path) -> Import:
        """Begins to; the caller has other things to do meanwhile."""
        log = self._place.log("images")
        # Through a pipe: on the node, the lab's own /var/lib may hide the cache.
        with open(archive, "rb") as source:
            argv = [*self.inside(), "ctr", "--namespace", "k8s.io", "images", "import", "-"]
            return Import(process.start(self._place, argv, log, stdin=source), log)

    def _start(self, program: str, *flags: str) -> None:
        process.start(self._place, [*self.inside(), self._place.bin / program, *flags], self._place.log(program))

    def inside(self) -> list[str]:
        """What to put before a command to run it on the node: its mounts and its network."""
        pid = process.running(self._place).get("containerd")
        if pid is None:
            raise LabError(f"lab {self._place.name} has no real node")
        return ["nsenter", f"--target={pid}", "--mount", "--net"]

    def _runtime_answers(self) -> bool:
        return "containerd" in process.running(self._place) and succeeds([*self.inside(), "ctr", "version"])

    def _write(self, name: str, text: str) -> Path:
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def _containerd_config(self) -> str:
        return f"""
version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE a score below containerd's own cannot be set, and every sandbox would fail.
  restrict_oom_score_adj = true

# The handler of RuntimeClass nvidia: runc again, since there are no GPUs to prepare a container for.
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{host.plugin_folder()}"
  conf_dir = "{self._folder / "cni"}"
"""

    def _kubelet_config(self, authority: Path) -> dict:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "authentication": {
                "anonymous": {"enabled": False},
                "x509": {"clientCAFile": str(authority)},
            },
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": "/" + Cgroup(self._place).name,
            # The host may be any machine: with swap, with version 1 of cgroups, with an almost full disk.
            "failSwapOn": False,
            "failCgroupV1": False,
            "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
            # Images that were imported could not be pulled again.
            "imageGCHighThresholdPercent": 100,
            "oomScoreAdj": 0,
            # There is no cluster DNS. Names fail at once this way, and no pod gets a warning about it.
            "clusterDNS": ["127.0.0.1"],
            "resolvConf": "",
            "shutdownGracePeriod": "0s",
        }

    def _proxy_config(self) -> dict:
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clientConnection": {"kubeconfig": str(self._place.kubeconfig)},
            "clusterCIDR": POD_RANGE,
            "hostnameOverride": NAME,
            # The size of the connection table belongs to the host.
            "conntrack": {"maxPerCore": 0, "min": 0},
            "oomScoreAdj": 0,
        }


_BRIDGE = {
    "cniVersion": "0.4.0",
    "name": "bridge",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isDefaultGateway": True,
            "hairpinMode": True,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": POD_RANGE}]]},
        }
    ],
}
