# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labs that really start and stop, beside whatever else runs on this machine, and what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab import lab, process
from tests.lab.kubectl import Kubectl
from tests.lab.place import Place

ROOT = Path(__file__).parents[2]
FIRST, SECOND = Place("selftest-a"), Place("selftest-b")


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "tests.lab", *words]


def _lab(word: str, place: Place, *options: str) -> None:
    subprocess.run(_command(word, "--name", place.name, *options), cwd=ROOT, check=True)


def _wait_until(is_so: Callable[[], bool], timeout: float = 60.0) -> None:
    deadline = time.monotonic() + timeout
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


@pytest.fixture
def stopped_afterwards() -> Iterator[None]:
    yield
    for place in (FIRST, SECOND):
        _lab("down", place)


class Host:
    """What a lab could change about this machine. Other labs may run, so only what they do not touch is compared."""

    _PATHS = (
        "/etc/cni",
        "/run/containerd",
        "/run/netns",
        "/var/lib/cni",
        "/var/lib/kubelet",
        "/var/log/pods",
        "/run/xtables.lock",
    )
    _SETTINGS = (
        "vm/overcommit_memory",
        "vm/panic_on_oom",
        "kernel/panic",
        "kernel/panic_on_oops",
        "net/ipv4/ip_forward",
    )
    _COMMANDS = (
        "ip -brief link",
        "ip route show table all",
        "ip -6 route show table all",
        "ip rule",
        "ip netns",
        "iptables-save",
    )

    def __init__(self) -> None:
        self.mounts = set(Path("/proc/self/mounts").read_text().splitlines())
        self.cgroups = set(Path("/sys/fs/cgroup").glob("**/*kubegang*"))
        self.folders = {path for path in Path("/var/lib/kubegang-lab").glob("*") if not path.name.startswith(".")}
        self.paths = {path for path in self._PATHS if Path(path).exists()}
        self.settings = {name: Path("/proc/sys", name).read_text() for name in self._SETTINGS}
        self.networking = {command: _lines(command) for command in self._COMMANDS}


def _lines(command: str) -> set[str]:
    output = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout
    return {line.strip() for line in output.splitlines() if not line.startswith("#")}


def _processes_in(namespace: int) -> set[int]:
    """Every process whose network namespace is this one."""
    return {
        int(pid.name) for pid in Path("/proc").iterdir() if pid.name.isdecimal() and _namespace_of(pid) == namespace
    }


def _namespace_of(pid: Path) -> int | None:
    try:
        return (pid / "ns/net").stat().st_ino
    except OSError:
        return None  # it has ended


@pytest.mark.usefixtures("stopped_afterwards")
def test_two_labs_run_side_by_side_and_leave_the_machine_as_it_was() -> None:
    before = Host()
    both = [
        subprocess.Popen(_command("up", "--name", FIRST.name), cwd=ROOT),
        subprocess.Popen(_command("up", "--name", SECOND.name, "--no-real-node", "--gpu-nodes", "2"), cwd=ROOT),
    ]
    assert [starting.wait() for starting in both] == [0, 0]

    records = [lab.require(place) for place in (FIRST, SECOND)]
    assert records[0]["address"] != records[1]["address"]
    assert _ready_nodes(FIRST) == {"node-0", "gpu-0000", "gpu-0001", "gpu-0002", "gpu-0003"}
    assert _ready_nodes(SECOND) == {"gpu-0000", "gpu-0001"}
    namespaces = [place.netns_file.stat().st_ino for place in (FIRST, SECOND)]
    processes = {pid for record in records for pid in record["pids"].values()}
    assert processes <= _processes_in(namespaces[0]) | _processes_in(namespaces[1])

    for place in (FIRST, SECOND):
        _lab("down", place)
    assert not any(_processes_in(namespace) for namespace in namespaces)
    _wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes))
    assert vars(Host()) == vars(before)


def _ready_nodes(place: Place) -> set[str]:
    nodes = json.loads(Kubectl(place)("get", "nodes", "-o", "json"))["items"]
    return {
        node["metadata"]["name"]
        for node in nodes
        for condition in node["status"]["conditions"]
        if (condition["type"], condition["status"]) == ("Ready", "True")
    }


@pytest.mark.usefixtures("stopped_afterwards")
def test_an_unfinished_or_broken_lab_is_started_anew_and_one_that_runs_is_kept() -> None:
    _kill_while_starting(SECOND)
    assert lab.status(SECOND)["state"] == "unfinished"
    _lab("up", SECOND, "--no-real-node")
    first = process.running(SECOND)
    assert lab.status(SECOND)["state"] == "running"

    _lab("up", SECOND, "--no-real-node")
    assert process.running(SECOND) == first

    os.kill(first["etcd"], signal.SIGKILL)
    _wait_until(lambda: "etcd" not in process.running(SECOND))
    _lab("up", SECOND, "--no-real-node")
    assert lab.status(SECOND)["state"] == "running"
    assert process.running(SECOND)["etcd"] != first["etcd"]


def _kill_while_starting(place: Place) -> None:
    starting = subprocess.Popen(_command("up", "--name", place.name, "--no-real-node"), cwd=ROOT)
    _wait_until(lambda: "kube-apiserver" in process.running(place))
    starting.kill()
    starting.wait()


def test_down_where_there_is_no_lab_succeeds() -> None:
    _lab("down", SECOND)
    _lab("down", SECOND)
    assert lab.status(SECOND)["state"] == "absent"
