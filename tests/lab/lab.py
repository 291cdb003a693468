# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab's life: up, status, down."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import build, gpu_nodes, host, images, network, node, process
from .build import Build
from .cgroup import Cgroup
from .control_plane import ControlPlane, Kubectl
from .errors import LabError
from .network import Network
from .place import LABS, Place
from .progress import say
from .versions import version_set

_CONTROL_PLANE = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller"}
_REAL_NODE = {"containerd", "kubelet", "kube-proxy"}


@dataclass(frozen=True)
class Wish:
    """What a lab should be like."""

    set_name: str = "default"
    real_node: bool = True
    gpu_nodes: int = 4
    gpus_per_node: int = 8

    @property
    def programs(self) -> set[str]:
        return _CONTROL_PLANE | (_REAL_NODE if self.real_node else set())


def up(place: Place, wish: Wish) -> dict:
    """The record of a lab that runs: started now, or found running as wished."""
    host.require(wish.real_node)
    builds = build.ensure(version_set(wish.set_name))
    with _alone(place):
        record = read(place)
        if record and _runs(place, record):
            _require_same(place, record, wish)
            say(f"lab {place.name} is running")
            return record
        if place.folder.exists():
            say(f"removing what is left of an unfinished lab {place.name}")
        _remove(place)
        return _start(place, wish, builds)


def down(place: Place) -> None:
    """Stops the lab and removes every trace of it. Does nothing where there is none."""
    host.require_root()
    with _alone(place):
        _remove(place)
    place.lock.unlink(missing_ok=True)


def read(place: Place) -> dict | None:
    return json.loads(place.record.read_text()) if place.record.exists() else None


def require(place: Place) -> dict:
    record = read(place)
    if record is None or not _runs(place, record):
        raise LabError(f"lab {place.name} is not running: start it with up --name {place.name}")
    return record


def environment(record: dict) -> dict[str, str]:
    """For a shell: eval "$(python -m tests.lab env)"."""
    tools = {name.upper(): f"{record['bin']}/{name}" for name in ("kubectl", "helm")}
    return {
        "KUBECONFIG": record["kubeconfig"],
        **tools,
        "LAB_NAME": record["name"],
        "LAB_SET": record["set"],
        "LAB_AUDIT_LOG": record["audit_log"],
        **{f"{name.upper()}_CHART": path for name, path in record["charts"].items()},
    }


def ensure_gpu_nodes(place: Place, count: int) -> None:
    """As many simulated GPU nodes as count, or more: none is taken away, pods may be on it."""
    record = require(place)
    kubectl = Kubectl(place)
    present = len(gpu_nodes.names(kubectl))
    gpu_nodes.create(kubectl, first=present, count=max(0, count - present), gpus=record["gpus_per_node"])
    kubectl("wait", "node", "--selector=nvidia.com/gpu.present=true", "--for=condition=Ready", "--timeout=120s")
    say(f"lab {place.name} has {max(count, present)} GPU nodes")


def status(place: Place) -> dict:
    record = read(place)
    programs = process.running(place)
    state = "running" if record and _runs(place, record) else "unfinished" if place.folder.exists() else "absent"
    return {"name": place.name, "state": state, "processes": programs, "memory_mib": process.memory_mib(place)} | (
        {"set": record["set"], "kubeconfig": record["kubeconfig"]} if record else {}
    )


def _start(place: Place, wish: Wish, builds: dict[str, Build]) -> dict:
    started = time.monotonic()
    try:
        record = _start_parts(place, wish, builds)
    except BaseException:
        # The logs stay for whoever looks for the reason; the next start removes them.
        _stop(place)
        raise
    place.record.write_text(json.dumps(record, indent=1) + "\n")
    say(f"lab {place.name} is up after {time.monotonic() - started:.0f} s: KUBECONFIG={place.kubeconfig}")
    return record


def _start_parts(place: Place, wish: Wish, builds: dict[str, Build]) -> dict:
    place.logs.mkdir(parents=True)
    _fill_bin(place, builds)
    Cgroup(place).create()
    link = network.create(place)
    plane = ControlPlane(place, link)
    real_node = node.Node(place, link)
    kubectl = Kubectl(place)
    if wish.real_node:
        real_node.start_runtime()
    plane.start()
    if wish.real_node:
        real_node.start_kubelet()
        real_node.import_images(images.archive(builds))
    gpu_nodes.create(kubectl, first=0, count=wish.gpu_nodes, gpus=wish.gpus_per_node)
    _wait_for_nodes(place, kubectl, wish)
    return _record(place, wish, builds, plane, link)


def _fill_bin(place: Place, builds: dict[str, Build]) -> None:
    """Links, not copies, where the disk allows: the lab must not notice when the cache is cleared."""
    place.bin.mkdir()
    for component in ("etcd", "kubernetes", "kwok", "helm"):
        for name, program in builds[component].programs.items():
            try:
                os.link(program, place.bin / name)
            except OSError:
                shutil.copy2(program, place.bin / name)


def _wait_for_nodes(place: Place, kubectl: Kubectl, wish: Wish) -> None:
    log = place.logs / "kubelet.log"
    if wish.real_node:
        process.wait_for("the real node", lambda: kubectl.succeeds("get", "node", node.NAME), 60, log)
    if wish.real_node or wish.gpu_nodes:
        kubectl("wait", "node", "--all", "--for=condition=Ready", "--timeout=60s", what="get every node ready")
    # The first pod of a namespace is refused until its account exists.
    process.wait_for("the default account", lambda: kubectl.succeeds("get", "serviceaccount", "default"), 60, log)


def _record(place: Place, wish: Wish, builds: dict[str, Build], plane: ControlPlane, link: Network) -> dict:
    return {
        "name": place.name,
        "set": wish.set_name,
        "versions": {name: built.version for name, built in builds.items()},
        "kubeconfig": str(place.kubeconfig),
        "bin": str(place.bin),
        "logs": str(place.logs),
        "audit_log": str(plane.audit_log),
        "charts": {name: str(builds[name].file("chart")) for name in ("volcano", "lws")},
        "netns": place.netns,
        "address": link.lab,
        "real_node": node.NAME if wish.real_node else None,
        "gpus_per_node": wish.gpus_per_node,
        "pids": process.running(place),
    }


def _runs(place: Place, record: dict) -> bool:
    """Whether all programs are alive and the API server answers."""
    wanted = _CONTROL_PLANE | (_REAL_NODE if record["real_node"] else set())
    return wanted <= process.running(place).keys() and Kubectl(place).succeeds("get", "--raw", "/readyz")


def _require_same(place: Place, record: dict, wish: Wish) -> None:
    if record["set"] != wish.set_name:
        raise LabError(f"lab {place.name} runs the version set {record['set']}, not {wish.set_name}: stop it first, or use another --name")
    if wish.real_node and not record["real_node"]:
        raise LabError(f"lab {place.name} runs without the real node: stop it first, or use another --name")


def _remove(place: Place) -> None:
    _stop(place)
    shutil.rmtree(place.folder, ignore_errors=False) if place.folder.exists() else None


def _stop(place: Place) -> None:
    """Processes first: they hold everything else."""
    cgroup = Cgroup(place)
    cgroup.kill()
    network.remove(place)
    cgroup.remove()


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    """One command at a time for each lab."""
    LABS.mkdir(parents=True, exist_ok=True)
    with open(place.lock, "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another command on lab {place.name} …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
