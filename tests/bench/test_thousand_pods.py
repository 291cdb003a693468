# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a gang of 1,000 pods takes to assert, as a ratio to what kubernetes.core needs only to list the pods.

Both are whole tasks of one play, in turn. What is asserted is that both saw the same 1,000 pods; the seconds are for
people: they are printed and written to build/bench/results.json.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

import pytest
from rich.console import Console
from rich.table import Table

from tests.support.playbooks import ROOT

PODS, GPUS_PER_NODE, TURNS = 1000, 8, 3
RESULTS = ROOT / "build" / "bench" / "results.json"
# The target of the project: at most a tenth.
GOAL = 10


@pytest.fixture(scope="module")
def gpu_nodes(lab, kubectl):
    """Nodes enough for the whole gang; those that the lab did not have go again."""
    if not lab.is_lab:
        pytest.fail("the benchmark needs simulated GPU nodes, which only the lab has (unset LAB=none)")
    before = {node["metadata"]["name"] for node in kubectl.items("nodes")}
    lab_nodes = [sys.executable, "-m", "tests.lab", "nodes", "--name", lab.facts["name"]]
    subprocess.run([*lab_nodes, "--count", str(PODS // GPUS_PER_NODE)], cwd=ROOT, check=True)
    yield
    added = {node["metadata"]["name"] for node in kubectl.items("nodes")} - before
    kubectl("delete", "node", *sorted(added))


@pytest.fixture
def gang(gpu_nodes, volcano, namespace, run_module):
    container = {"name": "main", "image": "busybox:1.36", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    spec = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}], "containers": [container]}
    job = {"name": "thousand", "namespace": namespace}
    tasks = [{"name": "worker", "replicas": PODS, "template": {"spec": spec}}]
    started = run_module("volcano_job", **job, tasks=tasks, wait_for="running", wait_timeout=600)
    assert not started.failed, started.msg
    yield {"name": "thousand", "namespace": namespace, "submitted": started.seconds}
    run_module("volcano_job", **job, state="absent", wait_timeout=300)


def test_a_thousand_pods_are_asserted_running_while_the_peer_lists_them(gang, ansible, kubectl):
    ours = {"kubegang.core.gang_assert": {"name": gang["name"], "namespace": gang["namespace"], "wait_timeout": 0}}
    peer = {"kubernetes.core.k8s_info": {"kind": "Pod", "api_version": "v1", "namespace": gang["namespace"]}}
    bare = {"ansible.builtin.ping": {}}
    tasks = [{"name": name, **task} for name, task in (("ours", ours), ("peer", peer), ("ping", bare))]
    run = ansible.play(tasks * TURNS).checked()
    seconds = {name: [r.seconds for r in run.results if r.task == name] for name in ("ours", "peer", "ping")}

    assert run.task("ours")["gangs"][0]["running"] == PODS
    assert len(run.task("peer")["resources"]) == PODS
    assert len(kubectl.items("pods", "--namespace", gang["namespace"], "--field-selector=status.phase=Running")) == PODS
    report(seconds, gang["submitted"])


def report(seconds: dict[str, list[float]], submitted: float) -> None:
    median = {name: statistics.median(values) for name, values in seconds.items()}
    ratio = median["peer"] / median["ours"]
    table = Table("task", "median s", "fastest s", "slowest s", "times ours", title=f"{PODS} pods, {TURNS} turns")
    names = {"ours": "kubegang.core.gang_assert", "peer": "kubernetes.core.k8s_info", "ping": "ansible.builtin.ping"}
    for key, name in names.items():
        times = seconds[key]
        numbers = f"{median[key]:.2f}", f"{min(times):.2f}", f"{max(times):.2f}", f"{median[key] / median['ours']:.2f}"
        table.add_row(name, *numbers)
    console = Console(width=100)
    console.print()
    console.print(table)
    console.print(f"submitted and proven running by one volcano_job task: {submitted:.1f} s")
    console.print(f"goal: at least {GOAL} times faster than the peer; this run: {ratio:.1f} times")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    figures = {"pods": PODS, "seconds": seconds, "ratio": ratio, "goal": GOAL, "submit_to_running": submitted}
    RESULTS.write_text(json.dumps(figures, indent=2) + "\n")
