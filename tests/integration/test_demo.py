# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The README's first command, run as a reader would run it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.cluster import Kubectl, LiveCluster
from tests.support.playbooks import ROOT

NAMESPACE = "kubegang-demo"


def make_demo() -> str:
    words = [
        f"NAME={os.environ.get('KUBEGANG_LAB_NAME', 'main')}",
        f"SET={os.environ.get('KUBEGANG_LAB_SET', 'default')}",
    ]
    done = subprocess.run(["make", "demo", *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def report() -> dict[str, tuple[str, str, int, int]]:
    gangs = json.loads((ROOT / "build/demo/report.json").read_text())
    return {gang["name"]: (gang["expect"], gang["verdict"], gang["min_member"], gang["running"]) for gang in gangs}


def recaps(output: str) -> list[tuple[str, str]]:
    """(changed, failed) of each playbook, in order."""
    return re.findall(r"^demo +: ok=\d+ +changed=(\d+) +unreachable=0 +failed=(\d+)", output, flags=re.MULTILINE)


@pytest.fixture
def demo_namespace(lab: LiveCluster, kubectl: Kubectl) -> Iterator[str]:
    """Gone before and after: the first run submits afresh, and other tests get the GPUs back."""
    assert lab.is_lab, "what the demo shows without simulated GPUs depends on the cluster (unset LAB=none)"
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")
    yield NAMESPACE
    kubectl("delete", "namespace", NAMESPACE)


def test_demo_proves_its_gangs_and_changes_nothing_the_second_time(demo_namespace: str, kubectl: Kubectl) -> None:
    whole_nodes = len(kubectl.items("nodes", "--selector", "nvidia.com/gpu.present=true"))
    expected = {
        "infer-0": ("running", "pass", 2, 2),
        "infer-1": ("running", "pass", 2, 2),
        "train": ("running", "pass", 8, 8),
        "serve": ("running", "pass", 3, 3),
        "oversized": ("held", "pass", whole_nodes + 1, 0),
        "oversized-infer-0": ("held", "pass", whole_nodes + 1, 0),
    }
    first = make_demo()
    assert report() == expected
    assert [line.split()[0] for line in first.strip().splitlines()[-6:]] == list(expected)
    bound = kubectl("get", "pods", "-n", demo_namespace, "-o", "jsonpath={range .items[*]}{.spec.nodeName}{'\\n'}{end}")
    assert len(set(bound.split()) - {"node-0"}) > 1
    assert recaps(make_demo()) == [("0", "0"), ("0", "0")]
    assert report() == expected
