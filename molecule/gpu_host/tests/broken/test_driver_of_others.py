# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A driver that somebody else brought is kept, and a reboot that is needed is never made without leave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.playbooks import Ansible, PlaybookRun

testinfra_hosts = ["podman://kubegang-debian12"]

SCENARIO = Path(__file__).parents[2]
DRIVER = "535.309.01"
# By this file the role knows a driver as its own.
MARK = "/etc/modprobe.d/kubegang-nvidia-driver.conf"
VERSION = "/sys/module/nvidia/version"


@pytest.fixture
def driver_of_others(host):
    with broken(host, f"mv {MARK} /run/mark", f"mv /run/mark {MARK}"):
        yield


@contextmanager
def broken(host, breaking: str, repairing: str) -> Iterator[None]:
    host.check_output("sh -ec %s", breaking)
    try:
        yield
    finally:
        host.check_output("sh -ec %s", repairing)


def other_module(host):
    """An older module is loaded than the one that is installed."""
    return broken(host, f"echo 535.183.06 > {VERSION}", f"echo {DRIVER} > {VERSION}")


def provide(ansible: Ansible, **variables: Any) -> PlaybookRun:
    return ansible.playbook(SCENARIO / "provide_role.yml", extra_vars={"role": "nvidia_driver", **variables})


def report(run: PlaybookRun) -> dict:
    return run.task("Report")["ansible_facts"]["nvidia_driver_report"]


@pytest.mark.usefixtures("driver_of_others")
def test_driver_of_others_is_verified_and_not_touched_in_any_run(ansible):
    for _ in range(2):
        run = provide(ansible, nvidia_driver_version="").checked()
        assert run.changed == []
        assert (report(run)["driver_source"], report(run)["driver_version"]) == ("host", DRIVER)


@pytest.mark.usefixtures("driver_of_others")
def test_driver_of_others_that_does_not_work_is_named_and_not_touched(ansible, host):
    with other_module(host):
        run = provide(ansible, nvidia_driver_version="", nvidia_driver_reboot="allow")
    assert run.returncode != 0
    assert run.changed == []
    assert "mismatch" in run.results[-1].msg
    assert "reboot-pending" in run.results[-1].msg


def test_driver_of_the_operator_cannot_be_adopted(ansible, host):
    with broken(host, "mkdir -p /run/nvidia/driver/usr", "rm -r /run/nvidia"):
        run = provide(ansible, nvidia_driver_existing="adopt")
    assert run.returncode != 0
    assert run.changed == []
    assert "kept by the GPU Operator" in run.results[-1].msg


def test_needed_reboot_is_a_finding_by_default(ansible, host):
    with other_module(host):
        run = provide(ansible)
    assert run.returncode != 0
    assert run.changed == []
    assert f"module 535.183.06 is loaded, {DRIVER} is installed" in run.results[-1].msg


def test_needed_reboot_that_is_deferred_is_a_fact_and_a_warning(ansible, host):
    with other_module(host):
        run = provide(ansible, nvidia_driver_reboot="defer").checked()
    assert run.changed == []
    assert report(run)["reboot_reasons"] == [f"module 535.183.06 is loaded, {DRIVER} is installed"]
    assert "WARNING: reboot pending" in run.output


def test_module_that_cannot_be_loaded_is_a_reason_to_reboot(ansible, host):
    with broken(
        host,
        "mv /sys/module/nvidia /usr/lib/gpu-double/load /run",
        "mv /run/nvidia /sys/module && mv /run/load /usr/lib/gpu-double",
    ):
        run = provide(ansible, nvidia_driver_reboot="defer").checked()
    assert run.changed == []
    [reason] = report(run)["reboot_reasons"]
    assert reason.startswith("the module cannot be loaded: ")
    assert "could not insert 'nvidia'" in reason


def test_host_without_gpu_is_left_alone(ansible, host):
    with broken(
        host, "mkdir -p /run/nothing && mount --bind /run/nothing /sys/bus/pci/devices", "umount /sys/bus/pci/devices"
    ):
        run = provide(ansible, nvidia_driver_expected_gpus=0).checked()
    assert run.changed == []
    assert "no NVIDIA GPU on its PCI bus" in run.output


def test_container_is_left_alone_unless_told_otherwise(ansible):
    run = provide(ansible, nvidia_driver_shared_kernel="skip").checked()
    assert run.changed == []
    assert "its kernel is not its own (podman)" in run.output
