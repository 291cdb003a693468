# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the play did, run by run, and what dnf itself makes of the lock that it left."""

from __future__ import annotations

import pytest

from tests.support.molecule_runs import BEGINNING, kept_results

testinfra_hosts = ["podman://kubegang-rpm"]


@pytest.fixture(scope="module")
def runs():
    """The names of the tasks that changed something in each run of a role's steps."""
    runs: dict[str, set[str]] = {}
    for result in kept_results():
        if result.task == BEGINNING:
            # Once more if somebody has tried it by hand before.
            run = runs[result.msg] = set()
        elif runs and result.changed and result.task.startswith("kubegang.core."):
            run.add(result.task.partition(" : ")[2])
    return runs


FIRST = {"Provide the repository", "Install the driver"}
LOCKED = "Lock the packages, or let them go"
TOOLKIT = {"Copy the key", "Provide the repository's entry", "Install the packages at one version"}
HELD = "Hold the packages at that version, or let them go"


@pytest.mark.parametrize(
    ("run", "changed"),
    [
        ("suse 580.95.05", {*FIRST, "Copy the key from the controller", "Trust the key", "Lock the packages"}),
        ("suse 580.95.05 again", set()),
        ("suse Fabric Manager", {"Install the Fabric Manager", "Lock the packages"}),
        ("suse Fabric Manager again", set()),
        ("suse 580.126.20", {"Unlock the packages", "Install the driver", "Lock the packages"}),
        ("suse toolkit 1.20.1", {*TOOLKIT, "Lock the packages"}),
        ("suse toolkit 1.20.1 again", set()),
        ("suse toolkit 1.20.2", {"Unlock the packages", "Install the packages at one version", "Lock the packages"}),
        ("redhat 570", {*FIRST, "Provide dnf's version lock", LOCKED}),
        ("redhat 570 again", set()),
        ("redhat 570.86.15", {"Install the driver", LOCKED}),
        ("redhat Fabric Manager", {"Install the Fabric Manager", LOCKED}),
        ("redhat Fabric Manager again", set()),
        ("redhat toolkit 1.20.1", {*TOOLKIT, HELD}),
        ("redhat toolkit 1.20.1 again", set()),
        ("redhat toolkit 1.20.2", {"Install the packages at one version", HELD}),
    ],
)
def test_run_changed_just_what_differed(runs, run, changed):
    assert runs[run] == changed


def test_dnf_knows_the_locks(host):
    driver = ["kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-fabric-manager", "nvidia-persistenced"]
    toolkit = [
        "libnvidia-container-tools",
        "libnvidia-container1",
        "nvidia-container-toolkit",
        "nvidia-container-toolkit-base",
    ]
    locks = [f"{name}-3:570.86.15-1.el9.*" for name in driver] + [f"{name}-0:1.20.2-1.*" for name in toolkit]
    assert sorted(host.check_output("dnf --quiet versionlock list").split()) == sorted(locks)
