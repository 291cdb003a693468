# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the runs of the role changed on both hosts: in check mode, then really, then once more."""

from __future__ import annotations

import pytest

from tests.support.molecule_runs import changes_by_run

testinfra_hosts = ["podman://kubegang-docker", "podman://kubegang-crio"]

RESTART = "kubegang.core.nvidia_container_toolkit : Restart the container runtime"


@pytest.fixture(scope="module")
def runs(host):
    return changes_by_run(host.check_output("hostname"))


def test_check_mode_predicted_what_the_run_did(runs):
    assert runs[0] == runs[1]
    assert RESTART in runs[1]


def test_a_second_run_changed_nothing(runs):
    assert runs[2] == set()


def test_the_runtime_was_restarted_once(host):
    assert host.file("/var/lib/starts").content_string == "started\n" * 2
