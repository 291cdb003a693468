# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab's life: up, more nodes, more images, status, down."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

from . import build, gpu_nodes, host, images, network, node, process
from . import record as records
from .build import Build
from .cgroup import Cgroup
from .control_plane import ControlPlane
from .errors import LabError
from .kubectl import Kubectl
from .lock import exclusively
from .network import Network
from .node import Node
from .place import LABS, Place
from .progress import say
from .versions import version_set

_CONTROL_PLANE = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller"}
_REAL_NODE = {"containerd", "kubelet", "kube-proxy"}
_IN_BIN = ("etcd", "kubernetes", "kwok", "helm")


@dataclass(frozen=True)
class Wish:
    """What a lab should be like."""

    set_name: str = "default"
    real_node: bool = True
    gpu_nodes: int = 4
    gpus_per_node: int = 8


def up(place: Place, wish: Wish) -> dict:
    """The record of a lab that runs: one that was found, or else a new one."""
    host.require(wish.real_node)
    builds = build.ensure(version_set(wish.set_name))
    with _alone(place):
        record = records.read(place)
        if record and _runs(place, record):
            _require_alike(record, wish)
            say(f"lab {place.name} is running: KUBECONFIG={place.kubeconfig}")
            ensure_gpu_nodes(place, wish.gpu_nodes)
        else:
            _clean_up(place)
            record = _start(place, wish, builds)
    return record


def down(place: Place) -> None:
    """Stops the lab and removes every trace of it. Does nothing where there is none."""
    host.require_root()
    with _alone(place):
        _remove(place)
        place.lock.unlink()
    with suppress(OSError):  # the folder goes with the last lab
        LABS.rmdir()


def require(place: Place) -> dict:
    """The record of a lab that must be running."""
    record = records.read(place)
    if record is None or not _runs(place, record):
        raise LabError(f"lab {place.name} is not running: start it with the word up")
    return record


def status(place: Place) -> dict:
    record = records.read(place)
    unfinished = "unfinished" if place.folder.exists() else "absent"
    return {
        "name": place.name,
        "state": "running" if record and _runs(place, record) else unfinished,
        "set": record["set"] if record else None,
        "kubeconfig": record["kubeconfig"] if record else None,
        "processes": process.running(place),
        "memory_mib": process.memory_mib(place),
    }


def ensure_gpu_nodes(place: Place, count: int) -> None:
    """At least so many simulated GPU nodes: none is taken away, because pods may be on it."""
    record = require(place)
    kubectl = Kubectl(place)
    present = len(gpu_nodes.names(kubectl))
    if present < count:
        gpu_nodes.create(kubectl, first=present, count=count - present, gpus=record["gpus_per_node"])
        _wait_until_ready(place, kubectl)
        say(f"lab {place.name} has {count} GPU nodes")


def add_images(place: Place, set_name: str) -> None:
    """Images and charts of one more version set, as an upgrade needs them."""
    builds = build.ensure(version_set(set_name))
    with _alone(place):
        record = require(place)
        Node(place, Network.of(record["address"])).import_images(images.archive(builds, unversioned=False)).finish()
        record["sets"][set_name] = records.of_set(place, set_name, builds)
        records.write(place, record)
    say(f"lab {place.name} has the images of the version set {set_name}")


def _start(place: Place, wish: Wish, builds: dict[str, Build]) -> dict:
    started = time.monotonic()
    try:
        record = _start_parts(place, wish, builds)
    except BaseException:
        # The folder stays, with the logs for whoever looks for the reason. The next start removes it.
        _stop(place)
        raise
    records.write(place, record)
    say(f"lab {place.name} is up after {time.monotonic() - started:.0f} s: KUBECONFIG={place.kubeconfig}")
    return record


def _start_parts(place: Place, wish: Wish, builds: dict[str, Build]) -> dict:
    place.logs.mkdir(parents=True)
    _fill_bin(place, builds)
    Cgroup(place).create()
    link = network.create(place)
    plane = ControlPlane(place, link)
    if wish.real_node:
        _start_beside(Node(place, link), plane, builds)
    else:
        plane.start()
    kubectl = Kubectl(place)
    gpu_nodes.create(kubectl, first=0, count=wish.gpu_nodes, gpus=wish.gpus_per_node)
    _wait_for_nodes(place, wish, kubectl)
    return _record(place, wish, builds, plane, link)


def _start_beside(real_node: Node, plane: ControlPlane, builds: dict[str, Build]) -> None:
    """The node takes its images in while the control plane comes up."""
    real_node.start_runtime()
    importing = real_node.import_images(images.archive(builds))
    plane.start()
    real_node.start_kubelet(plane.authority)
    importing.finish()


def _fill_bin(place: Place, builds: dict[str, Build]) -> None:
    """Hard links where the disk allows it: the lab must not notice when the cache is cleared."""
    place.bin.mkdir()
    for component in _IN_BIN:
        for name, program in builds[component].programs.items():
            try:
                os.link(program, place.bin / name)
            except OSError:
                shutil.copy2(program, place.bin / name)


def _wait_for_nodes(place: Place, wish: Wish, kubectl: Kubectl) -> None:
    log = place.log("kubelet")
    if wish.real_node:
        process.wait_for("the real node", lambda: kubectl.succeeds("get", "node", node.NAME), 60, log)
    _wait_until_ready(place, kubectl)
    # The first pod of a namespace is refused until its account exists.
    process.wait_for("the default account", lambda: kubectl.succeeds("get", "serviceaccount", "default"), 60, log)


def _wait_until_ready(place: Place, kubectl: Kubectl) -> None:
    # kubectl wait would watch each node by itself, which takes half a minute for some hundred.
    ready = '{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'

    def all_are() -> bool:
        return set(kubectl("get", "nodes", "-o", f"jsonpath={ready}").splitlines()) <= {"True"}

    process.wait_for("every node's readiness", all_are, 120, place.log("kubelet"))


def _record(place: Place, wish: Wish, builds: dict[str, Build], plane: ControlPlane, link: Network) -> dict:
    own_set = records.of_set(place, wish.set_name, builds)
    return {
        "name": place.name,
        "set": wish.set_name,
        **own_set,
        "sets": {wish.set_name: own_set},
        "kubeconfig": str(place.kubeconfig),
        "bin": str(place.bin),
        "logs": str(place.logs),
        "audit_log": str(plane.audit_log),
        "netns": place.netns,
        "address": link.lab,
        "real_node": node.NAME if wish.real_node else None,
        "gpus_per_node": wish.gpus_per_node,
        "pids": process.running(place),
    }


def _runs(place: Place, record: dict) -> bool:
    """Whether all programs are alive and the API server answers."""
    wanted = _CONTROL_PLANE | (_REAL_NODE if record["real_node"] else set())
    return wanted <= process.running(place).keys() and Kubectl(place).is_served()


def _require_alike(record: dict, wish: Wish) -> None:
    advice = "stop it first, or take another --name"
    if record["set"] != wish.set_name:
        raise LabError(f"lab {record['name']} runs with --set {record['set']}, not {wish.set_name}: {advice}")
    if wish.real_node and not record["real_node"]:
        raise LabError(f"lab {record['name']} runs with --no-real-node: {advice}")


def _clean_up(place: Place) -> None:
    if place.folder.exists():
        say(f"removing what is left of lab {place.name}, which stopped or never finished starting")
    _remove(place)


def _remove(place: Place) -> None:
    _stop(place)
    if place.folder.exists():
        shutil.rmtree(place.folder)


def _stop(place: Place) -> None:
    """Processes first: they hold everything else."""
    cgroup = Cgroup(place)
    cgroup.kill()
    network.remove(place)
    cgroup.remove()


def _alone(place: Place) -> AbstractContextManager[None]:
    return exclusively(place.lock, f"changing lab {place.name}")
