# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the runs of the role changed on both hosts: in check mode, then really, then once more."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

testinfra_hosts = ["podman://kubegang-docker", "podman://kubegang-crio"]

RESTART = "kubegang.core.nvidia_container_toolkit : Restart the container runtime"


@pytest.fixture(scope="module")
def runs(host):
    """The names of the tasks that changed something on the host, for each run of the playbook: check, converge, idempotence."""
    name = host.check_output("hostname")
    runs = []
    for line in Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results.jsonl").read_text().splitlines():
        result = json.loads(line)
        if result["host"] != name:
            continue
        if result["task"] == "Begin a run":
            runs.append(set())
        elif runs and result["result"].get("changed"):
            runs[-1].add(result["task"])
    # Before them are those of whoever tried something by hand.
    return runs[-3:]


def test_check_mode_predicted_what_the_run_did(runs):
    assert runs[0] == runs[1]
    assert RESTART in runs[1]


def test_a_second_run_changed_nothing(runs):
    assert runs[2] == set()


def test_the_runtime_was_restarted_once(host):
    assert host.file("/var/lib/starts").content_string == "started\n" * 2
