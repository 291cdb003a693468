# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong on a GPU host is made to go wrong, one thing at a time, and verification names it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.playbooks import Ansible, PlaybookRun

testinfra_hosts = ["podman://kubegang-debian12"]

SCENARIO = Path(__file__).parents[2]
VERSION = "/sys/module/nvidia/version"
DROP_IN = "/etc/containerd/conf.d/99-nvidia.toml"
SPEC = "/var/run/cdi/nvidia.yaml"
# journald takes what calls itself a kernel message from the kernel only, so the event comes as a file of a journal.
XID = r"""
folder=$(dirname "$(journalctl --header | sed -n 's/File path: //p' | head -1)")
/lib/systemd/systemd-journal-remote --output="$folder/double.journal" - <<END
__REALTIME_TIMESTAMP=$(date +%s%6N)
__MONOTONIC_TIMESTAMP=1
_BOOT_ID=$(tr -d - < /proc/sys/kernel/random/boot_id)
_TRANSPORT=kernel
SYSLOG_IDENTIFIER=kernel
MESSAGE=NVRM: Xid (PCI:0000:18:00): 79, pid=1, name=train, GPU has fallen off the bus.

END
"""


@dataclass(frozen=True)
class Fault:
    """What breaks the host and what repairs it, and what verification has to find."""

    role: str
    breaking: str
    repairing: str
    findings: set[str]
    words: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def edited(file: str, script: str) -> str:
    """Edits the file without making it younger; what it was lies beside it."""
    return f"sed -i.kept '{script}' {file} && touch --reference={file}.kept {file}"


DRIVER_FAULTS = {
    "module of another version": Fault(
        "nvidia_driver",
        f"echo 535.183.06 > {VERSION}",
        f"modinfo --field version nvidia > {VERSION}",
        {"reboot-pending", "module-version", "nvidia-smi", "gpu-count"},
        ("exit code 18", "mismatch", "535.183.06"),
    ),
    "module not loaded": Fault(
        "nvidia_driver",
        "mv /sys/module/nvidia /run/nvidia",
        "mv /run/nvidia /sys/module/nvidia",
        {"module-loaded", "nvidia-smi", "gpu-count"},
        ("exit code 9", "not loaded"),
    ),
    "GPU that is lost": Fault(
        "nvidia_driver",
        "mkdir -p /run/gpu-double && echo 1 > /run/gpu-double/lost",
        "rm -r /run/gpu-double",
        {"nvidia-smi", "gpu-count"},
        ("exit code 15", "lost"),
    ),
    "GPU that the bus does not show": Fault(
        "nvidia_driver",
        "mkdir -p /run/pci && cp -r /sys/bus/pci/devices/0000:17:00.0 /run/pci && mount --bind /run/pci /sys/bus/pci/devices",
        "umount /sys/bus/pci/devices",
        {"pci-count"},
    ),
    "device node that is missing": Fault(
        "nvidia_driver",
        "rm /dev/nvidia1",
        "mknod -m 666 /dev/nvidia1 c 195 1",
        {"device-nodes"},
        ("/dev/nvidia1",),
    ),
    "nouveau": Fault(
        "nvidia_driver",
        "mkdir /sys/module/nouveau",
        "rmdir /sys/module/nouveau",
        {"nouveau", "reboot-pending"},
    ),
    "persistence daemon that is stopped": Fault(
        "nvidia_driver",
        "systemctl stop nvidia-persistenced",
        "systemctl start nvidia-persistenced",
        {"persistenced"},
    ),
    "critical event": Fault(
        "nvidia_driver",
        XID,
        "rm /var/log/journal/*/double.journal",
        {"xid"},
        ("Xid 79", "0000:18:00"),
    ),
}
TOOLKIT_FAULTS = {
    "packages of another version": Fault(
        "nvidia_container_toolkit",
        "true",
        "true",
        {"package-version"},
        ("libnvidia-container1 1.19.1",),
        {"nvidia_container_toolkit_version": "1.19.1"},
    ),
    "drop-in that nobody imports": Fault(
        "nvidia_container_toolkit",
        edited("/etc/containerd/config.toml", "/^imports/d"),
        "mv /etc/containerd/config.toml.kept /etc/containerd/config.toml",
        {"runtime-import"},
        (DROP_IN,),
    ),
    "drop-in that is gone": Fault(
        "nvidia_container_toolkit",
        f"mv {DROP_IN} /run/kept",
        f"mv /run/kept {DROP_IN}",
        {"runtime-entry"},
    ),
    "another program as the runtime": Fault(
        "nvidia_container_toolkit",
        edited(DROP_IN, "s,/usr/bin/nvidia-container-runtime,/usr/bin/runc,"),
        f"mv {DROP_IN}.kept {DROP_IN}",
        {"runtime-binary"},
        ("/usr/bin/runc",),
    ),
    "other cgroups than runc": Fault(
        "nvidia_container_toolkit",
        edited(DROP_IN, "0,/SystemdCgroup = true/s//SystemdCgroup = false/"),
        f"mv {DROP_IN}.kept {DROP_IN}",
        {"runtime-cgroups"},
    ),
    "runc as the default runtime": Fault(
        "nvidia_container_toolkit",
        "true",
        "true",
        {"runtime-default"},
        (),
        {"nvidia_container_toolkit_default_runtime": "true"},
    ),
    "containerd that is stopped": Fault(
        "nvidia_container_toolkit",
        "systemctl stop containerd",
        "systemctl start containerd",
        {"runtime-service"},
    ),
    "configuration that containerd has not read": Fault(
        "nvidia_container_toolkit",
        f"sleep 2; touch {DROP_IN}",
        "systemctl restart containerd",
        {"runtime-restart"},
        (DROP_IN,),
    ),
    "no CDI specification": Fault(
        "nvidia_container_toolkit",
        f"mv {SPEC} /run/kept",
        f"mv /run/kept {SPEC}",
        {"cdi-spec"},
    ),
    "CDI specification from before the driver": Fault(
        "nvidia_container_toolkit",
        f"touch --date='2 days ago' {SPEC}",
        f"touch {SPEC}",
        {"cdi-stale"},
    ),
    "CDI specification of another driver's files": Fault(
        "nvidia_container_toolkit",
        edited(SPEC, "s/535.309.01/535.183.06/"),
        f"mv {SPEC}.kept {SPEC}",
        {"cdi-paths"},
        ("libcuda.so.535.183.06",),
    ),
    "CDI specification without one GPU": Fault(
        "nvidia_container_toolkit",
        "mknod -m 666 /dev/nvidia2 c 195 2",
        "rm /dev/nvidia2",
        {"cdi-devices"},
        ("3 GPUs",),
    ),
    "second CDI specification": Fault(
        "nvidia_container_toolkit",
        f"mkdir -p /etc/cdi && cp {SPEC} /etc/cdi/nvidia.yaml",
        "rm -r /etc/cdi",
        {"cdi-conflict"},
    ),
    "CDI specification that nobody refreshes": Fault(
        "nvidia_container_toolkit",
        "systemctl disable nvidia-cdi-refresh.service",
        "systemctl enable nvidia-cdi-refresh.service",
        {"cdi-unit"},
    ),
    "driver that is not loaded": Fault(
        "nvidia_container_toolkit",
        "mv /sys/module/nvidia /run/nvidia",
        "mv /run/nvidia /sys/module/nvidia",
        {"driver-loaded"},
    ),
}
FAULTS = {**DRIVER_FAULTS, **TOOLKIT_FAULTS}


@pytest.fixture(scope="module")
def ansible(tmp_path_factory) -> Iterator[Ansible]:
    with Ansible(tmp_path_factory.mktemp("ansible"), {}, SCENARIO / "inventory.yml") as ansible:
        yield ansible


def verify(ansible: Ansible, role: str, variables: dict[str, str] | None = None) -> PlaybookRun:
    return ansible.playbook(SCENARIO / "verify_role.yml", extra_vars={"role": role, **(variables or {})})


def findings(run: PlaybookRun, role: str) -> list[dict]:
    return run.task("Report")["ansible_facts"][f"{role}_report"]["findings"]


@pytest.mark.parametrize("role", ["nvidia_driver", "nvidia_container_toolkit"])
def test_healthy_host_has_no_finding(ansible, role):
    run = verify(ansible, role).checked()
    assert findings(run, role) == []
    assert run.changed == []


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found_and_nothing_else(host, ansible, name):
    fault = FAULTS[name]
    host.check_output("sh -ec %s", fault.breaking)
    try:
        run = verify(ansible, fault.role, fault.variables)
    finally:
        host.check_output("sh -ec %s", fault.repairing)
    assert run.returncode != 0
    assert {finding["id"] for finding in findings(run, fault.role)} == fault.findings
    assert run.changed == []
    said = run.results[-1].msg
    assert [word for word in (*fault.findings, *fault.words) if word not in said] == []


def test_everything_that_is_wrong_is_named_at_once(host, ansible):
    names = ["drop-in that nobody imports", "containerd that is stopped", "second CDI specification"]
    for name in names:
        host.check_output("sh -ec %s", FAULTS[name].breaking)
    try:
        run = verify(ansible, "nvidia_container_toolkit")
    finally:
        for name in names:
            host.check_output("sh -ec %s", FAULTS[name].repairing)
    assert "3 findings" in run.results[-1].msg
    assert [
        name
        for name in names
        if not FAULTS[name].findings <= {found["id"] for found in findings(run, "nvidia_container_toolkit")}
    ] == []


def test_repaired_host_is_healthy_again(ansible):
    assert findings(verify(ansible, "nvidia_container_toolkit").checked(), "nvidia_container_toolkit") == []
