# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each finding about a driver is made true here; on a healthy host none is."""

from __future__ import annotations

import pytest
from ansible_collections.kubegang.core.plugins.filter.nvidia_driver_findings import nvidia_driver_findings

from tests.unit.gpu_hosts import (
    BARE,
    DRIVER,
    LOST,
    MISMATCH,
    NO_DRIVER,
    answer,
    events,
    gpu,
    listing,
    look,
    rows,
    smi,
    unit,
)

# What each package manager keeps, as it writes it itself.
NAMES = ["nvidia-driver-cuda", "kmod-nvidia-open-dkms"]
HELD = {
    "apt": {"apt": "kmod-nvidia-open-dkms\nnvidia-driver-cuda\n"},
    "dnf": {
        "dnf": """\
# BEGIN kubegang.core.nvidia_driver
kmod-nvidia-open-dkms-3:570.86.15-1.el9.*
nvidia-driver-cuda-3:570.86.15-1.el9.*
# END kubegang.core.nvidia_driver"""
    },
    "zypp": {
        "zypp": """\

type: package
match_type: glob
case_sensitive: on
solvable_name: kmod-nvidia-open-dkms

type: package
match_type: glob
case_sensitive: on
solvable_name: nvidia-driver-cuda"""
    },
}
PIN = f"Package: nvidia-* libcuda1\nPin: version {DRIVER}*\nPin-Priority: 1001"
FABRIC_READY = """\
GPU 00000000:17:00.0
    Product Name                          : NVIDIA H200
    Fabric
        State                             : Completed
        Status                            : Success
"""
FABRIC_STARTING = FABRIC_READY.replace("Completed", "In Progress")


def switched(full):
    return smi(queried=answer(stdout=rows(DRIVER, DRIVER)), full=answer(stdout=full))


OFF_THE_BUS = "kernel: NVRM: Xid (PCI:0000:17:00): 79, pid=1896, GPU has fallen off the bus."
LINK_FAULT = "kernel: nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
ONE_LOST = smi(answer(15, listing(1) + LOST))
SWITCHED = {
    "switches": 4,
    "fabric_manager": f"Fabric Manager version is : {DRIVER}",
    "nvidia_smi": switched(FABRIC_READY),
    "units": {"nvidia-persistenced": unit(), "nvidia-fabricmanager": unit()},
}


def holds(**text):
    return {"apt": "", "pin": "", "dnf": "", "zypp": "", **text}


def found(host, **options):
    return {finding["id"]: finding for finding in nvidia_driver_findings(host, **options)}


@pytest.mark.parametrize("options", [{}, {"gpus": 2}, {"version": "535"}, {"version": DRIVER}])
def test_healthy_host_has_no_finding(options):
    assert found(look(), **options) == {}


def test_healthy_host_with_switches_has_no_finding():
    assert found(look(**SWITCHED), fabric_manager=True) == {}


def test_driver_of_the_operator_is_healthy_without_services_and_files_on_the_host():
    units = {name: unit("inactive", "", "not-found") for name in ("nvidia-persistenced", "nvidia-fabricmanager")}
    assert found(look(operator=True, installed="", nvml_library="", units=units)) == {}


# Each row: the finding, what makes it true, options, and what the finding says.
TRUE = {
    "gpu missing on the bus": ("pci-count", {}, {"gpus": 8}, "2"),
    "nouveau": ("nouveau", {"nouveau": True}, {}, "loaded"),
    "nouveau needs a reboot": ("reboot-pending", {"nouveau": True}, {}, "nouveau is loaded"),
    "upgraded, not rebooted": ("reboot-pending", {"installed": "535.400.01"}, {}, f"module {DRIVER} is loaded, 535.400.01"),
    "module cannot be loaded": (
        "reboot-pending",
        {"loaded": "", "proc_version": ""},
        {"modprobe": answer(1, stderr="modprobe: ERROR: could not insert 'nvidia': No such device\n")},
        "could not insert 'nvidia': No such device",
    ),
    "module not loaded": ("module-loaded", {"loaded": "", "proc_version": ""}, {}, "not loaded"),
    "no module for this kernel": ("module-installed", {"installed": ""}, {}, "none"),
    "loaded differs from installed": ("module-version", {"installed": "535.400.01"}, {}, DRIVER),
    "another branch": ("driver-version", {}, {"version": "570"}, DRIVER),
    "another version of the branch": ("driver-version", {}, {"version": "535.183.01"}, DRIVER),
    "no nvidia-smi": ("nvidia-smi", {"nvidia_smi": {"path": ""}}, {}, "exit code 127: it is not"),
    "driver not loaded": ("nvidia-smi", {"nvidia_smi": smi(answer(9, NO_DRIVER))}, {}, "exit code 9: the driver is not loaded"),
    "versions mismatch": ("nvidia-smi", {"nvidia_smi": smi(answer(18, MISMATCH))}, {}, "exit code 18: driver and library"),
    "GPU lost": ("nvidia-smi", {"nvidia_smi": ONE_LOST}, {}, "exit code 15: a GPU is lost"),
    "GPU lost, in NVIDIA's words": ("nvidia-smi", {"nvidia_smi": ONE_LOST}, {}, "device handle for gpu 1"),
    "only the query fails": (
        "nvidia-smi",
        {"nvidia_smi": smi(queried=answer(15, rows(DRIVER), LOST))},
        {},
        "exit code 15",
    ),
    "nvidia-smi hangs": ("nvidia-smi", {"nvidia_smi": smi(answer(124))}, {}, "did not answer"),
    "exit code of a later version": ("nvidia-smi", {"nvidia_smi": smi(answer(77, "boom\n"))}, {}, "exit code 77"),
    "GPU lost, counted": ("gpu-count", {"nvidia_smi": ONE_LOST}, {}, "1"),
    "GPU left out without an error": ("gpu-count", {"nvidia_smi": smi(answer(0, listing(1)), answer(0, rows(DRIVER)))}, {}, "1"),
    "NVML of another version": (
        "nvml-version",
        {"nvidia_smi": smi(queried=answer(stdout=rows(DRIVER, "535.183.01")))},
        {},
        "GPU 1 (00000000:18:00.0): 535.183.01",
    ),
    "user space of another version": (
        "library-version",
        {"nvml_library": "/usr/lib/libnvidia-ml.so.535.261.03"},
        {},
        "535.261.03 (/usr/lib/libnvidia-ml.so.535.261.03)",
    ),
    "device node missing": (
        "device-nodes",
        {"device_nodes": ["nvidia0", "nvidiactl"]},
        {},
        "missing: /dev/nvidia1, /dev/nvidia-uvm",
    ),
    "persistenced stopped": ("persistenced", {"units": {"nvidia-persistenced": unit("failed")}}, {}, "failed"),
    "persistenced absent": ("persistenced", {"units": {"nvidia-persistenced": unit(load="not-found")}}, {}, "not installed"),
    "persistenced disabled": ("persistenced", {"units": {"nvidia-persistenced": unit(enabled="disabled")}}, {}, "disabled"),
    "no Fabric Manager": ("fabric-manager", {}, {"fabric_manager": True}, "not installed"),
    "Fabric Manager of another version": (
        "fabric-manager-version",
        {**SWITCHED, "fabric_manager": "Fabric Manager version is : 535.183.01"},
        {"fabric_manager": True},
        "535.183.01",
    ),
    "fabric not ready": (
        "fabric-state",
        {**SWITCHED, "nvidia_smi": switched(FABRIC_READY + FABRIC_STARTING)},
        {"fabric_manager": True},
        "1 of 2 GPUs: In Progress",
    ),
    "GPU off the bus": (
        "xid",
        {"kernel_events": events(OFF_THE_BUS)},
        {},
        "Xid 79 on 0000:17:00, 1 times: GPU has fallen off the bus",
    ),
    "switch fails": (
        "sxid",
        {"kernel_events": events(LINK_FAULT)},
        {},
        "SXid 20034 on 0000:c1:00.0",
    ),
    "no kernel log": ("kernel-log", {"kernel_events": {"readable": False, "lines": [], "total": 0}}, {}, "cannot read"),
}  # fmt: skip


@pytest.mark.parametrize("manager", HELD)
def test_held_packages_are_known_by_what_each_manager_writes(manager):
    assert found(look(holds=holds(**HELD[manager])), held=NAMES) == {}


@pytest.mark.parametrize("manager", HELD)
def test_package_that_is_not_held_any_more_is_named(manager):
    without = {name: text.replace("nvidia-driver-cuda", "nvidia-driver") for name, text in HELD[manager].items()}
    assert found(look(holds=holds(**without)), held=NAMES)["hold"]["found"] == "not held: nvidia-driver-cuda"


@pytest.mark.parametrize(
    "line", ["!nvidia-driver-cuda-3:570.86.15-1.el9.*", "# nvidia-driver-cuda-3:570.86.15-1.el9.*"]
)
def test_excluded_version_and_comment_are_no_lock_of_dnf(line):
    assert "hold" in found(look(holds=holds(dnf=line)), held=["nvidia-driver-cuda"])


@pytest.mark.parametrize("version", ["535", DRIVER])
def test_pinned_version_is_no_finding(version):
    assert found(look(holds=holds(pin=PIN)), version=version, pinned=True) == {}


@pytest.mark.parametrize(
    ("text", "preferred"),
    [("", "none preferred"), (PIN.replace(DRIVER, "535.183.01"), "535.183.01*")],
)
def test_pin_that_is_gone_or_of_another_version_is_found(text, preferred):
    assert found(look(holds=holds(pin=text)), version=DRIVER, pinned=True)["pin"]["found"] == preferred


@pytest.mark.parametrize(("check", "differences", "options", "says"), TRUE.values(), ids=TRUE)
def test_finding_is_made_true(check, differences, options, says):
    finding = found(look(**differences), **options)[check]
    assert says in finding["found"]
    assert finding["expected"]
    assert finding["remedy"]


def test_version_with_two_numbers_is_a_branch_too():
    assert found(look(), version="535.309") == {}


def test_all_findings_are_reported_and_errors_come_first():
    log = events(
        "kernel: NVRM: Xid (PCI:0000:18:00): 31, pid=7, name=python3, Ch 00000008",
        "kernel: NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.",
    )
    host = look(nvidia_smi=ONE_LOST, device_nodes=["nvidia0", "nvidiactl", "nvidia-uvm"], kernel_events=log)
    findings = nvidia_driver_findings(host, gpus=8)
    assert [(each["id"], each["severity"]) for each in findings] == [
        ("pci-count", "error"),
        ("nvidia-smi", "error"),
        ("gpu-count", "error"),
        ("device-nodes", "error"),
        ("xid", "error"),
        ("xid", "warning"),
    ]


def test_host_without_driver_says_each_thing_that_lacks():
    assert set(found(look(BARE))) == {
        "module-loaded",
        "module-installed",
        "nvidia-smi",
        "gpu-count",
        "device-nodes",
        "persistenced",
    }


def test_mig_instances_are_no_gpus():
    instances = [f"  MIG 1g.18gb     Device  {number}: (UUID: MIG-{number})\n" for number in range(2)]
    mig = "".join([listing(1), *instances])
    host = look(
        pci=[gpu()],
        nvidia_smi=smi(answer(stdout=mig), answer(stdout=rows(DRIVER))),
        device_nodes=["nvidia0", "nvidiactl", "nvidia-uvm"],
    )
    assert found(host) == {}


def test_persistenced_and_fabric_manager_are_not_asked_for_where_nobody_wants_them():
    units = {name: unit("inactive", "", "not-found") for name in ("nvidia-persistenced", "nvidia-fabricmanager")}
    assert found(look(units=units), persistenced=False) == {}
