# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The README's first command, run as a reader would run it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cluster import Kubectl, LiveCluster
from tests.support.playbooks import ROOT

NAMESPACE = "kubegang-demo"
GPU = "nvidia.com/gpu"


def make_demo() -> str:
    words = [
        f"NAME={os.environ.get('KUBEGANG_LAB_NAME', 'main')}",
        f"SET={os.environ.get('KUBEGANG_LAB_SET', 'default')}",
    ]
    done = subprocess.run(["make", "demo", *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def report() -> dict[str, Any]:
    return json.loads((ROOT / "build/demo/report.json").read_text())


def verdicts() -> dict[str, tuple[str, str, int, int]]:
    gangs = report()["gangs"]
    return {gang["name"]: (gang["expect"], gang["verdict"], gang["min_member"], gang["running"]) for gang in gangs}


def gpus(kubectl: Kubectl) -> dict[str, tuple[int, int, int, int]]:
    """Capacity, allocatable, requested and free GPUs of each GPU node, as kubectl tells them."""
    requested: Counter[str] = Counter()
    for pod in kubectl.items("pods", "--all-namespaces", "--field-selector", "status.phase=Running"):
        for container in pod["spec"]["containers"]:
            requested[pod["spec"]["nodeName"]] += int(container["resources"].get("limits", {}).get(GPU, 0))
    numbers = {}
    for node in kubectl.items("nodes", "--selector", "nvidia.com/gpu.present=true"):
        name, status = node["metadata"]["name"], node["status"]
        capacity, allocatable = int(status["capacity"][GPU]), int(status["allocatable"][GPU])
        numbers[name] = capacity, allocatable, requested[name], allocatable - requested[name]
    return numbers


def recaps(output: str) -> list[tuple[str, str]]:
    """(changed, failed) of each playbook, in order."""
    return re.findall(r"^demo +: ok=\d+ +changed=(\d+) +unreachable=0 +failed=(\d+)", output, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def demo(lab: LiveCluster, kubectl: Kubectl) -> Iterator[str]:
    """What a first run says. Its gangs are gone before and after: it submits afresh, and other tests get the GPUs back."""
    assert lab.is_lab, "what the demo shows without simulated GPUs depends on the cluster (unset LAB=none)"
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")
    yield make_demo()
    kubectl("delete", "namespace", NAMESPACE)


def test_demo_shows_the_gpus_that_its_gangs_hold(demo: str, kubectl: Kubectl) -> None:
    truth = gpus(kubectl)
    totals = tuple(map(sum, zip(*truth.values(), strict=True)))
    assert totals[2] == 28
    shown = re.findall(rf"^ *(gpu-\d+|all nodes) +{GPU} +(\d+) +(\d+) +(\d+) +(\d+) *$", demo, flags=re.MULTILINE)
    assert [(name, *map(int, numbers)) for name, *numbers in shown] == [
        *((name, *numbers) for name, numbers in truth.items()),
        ("all nodes", *totals),
    ]
    pods = sum(free // 2 for *_, free in truth.values())
    assert demo.strip().splitlines()[-1] == f"Largest gang that fits now: {pods} pods with 2 {GPU} each"
    told = report()["gpus"]
    fields = ("capacity", "allocatable", "requested", "free")
    assert {node["name"]: tuple(node["resources"][GPU][field] for field in fields) for node in told["nodes"]} == truth
    assert tuple(told["totals"][GPU][field] for field in fields) == totals
    assert told["largest_gang"] == {GPU: pods}


def test_demo_proves_its_gangs_and_changes_nothing_the_second_time(demo: str, kubectl: Kubectl) -> None:
    whole_nodes = len(kubectl.items("nodes", "--selector", "nvidia.com/gpu.present=true"))
    expected = {
        "infer-0": ("running", "pass", 2, 2),
        "infer-1": ("running", "pass", 2, 2),
        "train": ("running", "pass", 6, 6),
        "serve": ("running", "pass", 3, 3),
        "oversized": ("held", "pass", whole_nodes + 1, 0),
        "oversized-infer-0": ("held", "pass", whole_nodes + 1, 0),
    }
    assert verdicts() == expected
    tables = demo.strip().splitlines()[-20:]
    assert [line.split()[0] for line in tables if line.rstrip().endswith(("(running)", "(held)"))] == list(expected)
    assert max(map(len, tables)) <= 80
    bound = {pod["spec"].get("nodeName") for pod in kubectl.items("pods", "-n", NAMESPACE)}
    assert len(bound - {None, "node-0"}) > 1
    assert recaps(make_demo()) == [("0", "0"), ("0", "0")]
    assert verdicts() == expected
