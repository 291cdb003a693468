# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster that tests run on, and two independent looks at it: kubectl and the API server's audit log."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.playbooks import ROOT

LABS = Path("/var/lib/kubegang-lab")
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True)
class LiveCluster:
    """A cluster that is up: the lab, or the one that KUBECONFIG names."""

    kubeconfig: Path
    kubectl: Path
    path: str
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_lab(self) -> bool:
        return bool(self.facts)

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs in order to work on this cluster and no other."""
        return {"KUBECONFIG": str(self.kubeconfig), "K8S_AUTH_KUBECONFIG": str(self.kubeconfig), "PATH": self.path}


def start() -> LiveCluster:
    """The lab KUBEGANG_LAB_NAME, started if it is not up, or with KUBEGANG_LAB=none the cluster of KUBECONFIG."""
    if os.environ.get("KUBEGANG_LAB") == "none":
        return _existing()
    return start_lab(os.environ.get("KUBEGANG_LAB_NAME", "main"), os.environ.get("KUBEGANG_LAB_SET", "default"))


def start_lab(name: str, *version_sets: str, gpu_nodes: int = 4) -> LiveCluster:
    """The lab of that name, with the programs of the first version set, and the images and charts of all."""
    lab_word("up", "--name", name, "--set", version_sets[0], "--gpu-nodes", str(gpu_nodes))
    for more in version_sets[1:]:
        lab_word("images", "--name", name, "--set", more)
    folder = LABS / name
    facts = json.loads((folder / "lab.json").read_text())
    programs = folder / "bin"
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return LiveCluster(folder / "kubeconfig", programs / "kubectl", path, facts)


def lab_word(*arguments: str) -> None:
    """One word of the lab's command line."""
    subprocess.run([sys.executable, "-m", "tests.lab", *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, check=True)


def _existing() -> LiveCluster:
    kubeconfig, kubectl = os.environ.get("KUBECONFIG"), shutil.which("kubectl")
    if not kubeconfig or not Path(kubeconfig).is_file():
        raise RuntimeError(f"LAB=none needs KUBECONFIG to name a kubeconfig file; it is {kubeconfig!r}")
    if not kubectl:
        raise RuntimeError("LAB=none needs kubectl on PATH")
    return LiveCluster(Path(kubeconfig).resolve(), Path(kubectl), os.environ["PATH"])


def site_vars(cluster: LiveCluster, version_set: str = "") -> dict[str, Any]:
    """What playbooks/site.yml needs to know: in the lab, that charts lie on this machine and not in a repository."""
    if not cluster.is_lab:
        return {}
    version_set = version_set or cluster.facts["set"]
    facts = cluster.facts["sets"][version_set]
    charts, versions = facts["charts"], facts["versions"]
    return {
        # The lab runs one Kubernetes under all version sets, too new for the older ones.
        "volcano_allow_unsupported_kubernetes": version_set != "default",
        "volcano_chart_repo_url": "",
        "volcano_chart_ref": charts["volcano"],
        "volcano_version": versions["volcano"],
        "lws_chart_ref": charts["lws"],
        "lws_version": versions["lws"],
        # A whole CPU, as the chart asks for, is too much where two pods are to be side by side for a moment.
        "lws_helm_values": {"resources": {"requests": {"cpu": "100m"}}},
        # kwok is what makes the simulated nodes offer GPUs.
        "nvidia_device_plugin_source": "existing",
    }


def device_plugin_vars(cluster: LiveCluster) -> dict[str, Any]:
    """What the role nvidia_device_plugin needs to know to install the lab's double, a plugin without GPUs."""
    return {
        "nvidia_device_plugin_chart_repo_url": "",
        "nvidia_device_plugin_chart_ref": str(ROOT / "tests/lab/charts/gpu-plugin-double"),
        "nvidia_device_plugin_version": cluster.facts["versions"]["gpu-plugin-double"],
        "nvidia_device_plugin_image_repository": "kubegang.dev/lab/gpu-plugin-double",
        "nvidia_device_plugin_label_nodes": [cluster.facts["real_node"]],
        "nvidia_device_plugin_gpus": {cluster.facts["real_node"]: 2},
    }


class Kubectl:
    """kubectl as an oracle: what it says is the truth that our own code is compared with."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._command = [str(cluster.kubectl), "--kubeconfig", str(cluster.kubeconfig)]

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl and return what it printed; an AssertionError with its own words when it fails."""
        done = subprocess.run([*self._command, *arguments], input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr.strip()}"
        return done.stdout

    def get(self, *arguments: str) -> dict[str, Any] | None:
        """``kubectl get`` as parsed JSON (an object or a List), None when there is no such object."""
        said = self("get", "--ignore-not-found", "-o", "json", *arguments)
        return json.loads(said) if said else None

    def items(self, *arguments: str) -> list[dict[str, Any]]:
        """The items of a list."""
        return (self.get(*arguments) or {"items": []})["items"]

    def apply(self, *objects: dict[str, Any]) -> None:
        """Server-side apply, for what a test needs before it starts."""
        self("apply", "--server-side", "-f", "-", stdin="\n---\n".join(json.dumps(obj) for obj in objects))


class AuditLog:
    """The API server's own record of requests.

    An answer reaches its client a little before its record reaches the log. So each end of what is looked at is a
    request of our own, waited for: whatever was answered before it is in the log by then.
    """

    def __init__(self, path: Path, kubectl: Kubectl) -> None:
        self._path = path
        self._kubectl = kubectl

    def mark(self) -> int:
        """Now; what follows is read with ``writes(since=mark)``."""
        return self._sentinel(0)[0]

    def writes(self, since: int, *, user_agent: str = "kubegang.core", dry_run: bool = False) -> list[dict[str, Any]]:
        """Answered write requests of one client since a mark, without (or, on demand, only) dry runs."""
        _end, lines = self._sentinel(since)
        return [
            event
            for event in map(json.loads, lines)
            if event["stage"] == "ResponseComplete"
            and event["verb"] in WRITES
            and event.get("userAgent", "").startswith(user_agent)
            and ("dryRun=" in event["requestURI"]) is dry_run
        ]

    def _sentinel(self, since: int) -> tuple[int, list[bytes]]:
        """The end of the log after a request of our own has come in, and the lines from ``since`` to there."""
        name = f"sentinel-{uuid.uuid4().hex}"
        self._kubectl.get("pod", name)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with self._path.open("rb") as file:
                file.seek(since)
                lines = file.readlines()
            for number, line in enumerate(lines, start=1):
                if name.encode() in line and line.endswith(b"\n"):
                    return since + sum(map(len, lines[:number])), lines[:number]
            time.sleep(0.05)
        raise AssertionError(f"no record of {name} in {self._path} after 10 s")
