# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the play did, run by run, and what dnf itself makes of the lock that it left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

testinfra_hosts = ["podman://kubegang-rpm"]


@pytest.fixture(scope="module")
def runs():
    """The names of the tasks that changed something in each run of the role's steps."""
    runs: dict[str, set[str]] = {}
    for line in Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results.jsonl").read_text().splitlines():
        result = json.loads(line)
        if result["task"] == "Begin a run":
            run = runs.setdefault(result["result"]["msg"], set())
        elif runs and result["result"].get("changed") and "nvidia_driver" in result["task"]:
            run.add(result["task"].partition(" : ")[2])
    return runs


FIRST = {"Provide the repository", "Install the driver"}
LOCKED = "Lock the packages, or let them go"


@pytest.mark.parametrize(
    ("run", "changed"),
    [
        ("suse 580.95.05", {*FIRST, "Copy the key from the controller", "Trust the key", "Lock the packages"}),
        ("suse 580.95.05 again", set()),
        ("suse Fabric Manager", {"Install the Fabric Manager", "Lock the packages"}),
        ("suse Fabric Manager again", set()),
        ("suse 580.126.20", {"Unlock the packages", "Install the driver", "Lock the packages"}),
        ("redhat 570", {*FIRST, "Provide dnf's version lock", LOCKED}),
        ("redhat 570 again", set()),
        ("redhat 570.86.15", {"Install the driver", LOCKED}),
        ("redhat Fabric Manager", {"Install the Fabric Manager", LOCKED}),
        ("redhat Fabric Manager again", set()),
    ],
)
def test_run_changed_just_what_differed(runs, run, changed):
    assert runs[run] == changed


def test_dnf_knows_the_lock(host):
    locked = host.check_output("dnf --quiet versionlock list").split()
    names = ["kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-fabric-manager", "nvidia-persistenced"]
    assert sorted(locked) == sorted(f"{name}-3:570.86.15-1.el9.*" for name in names)
