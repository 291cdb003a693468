# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong on a GPU host is made to go wrong, and verification names it, all of it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.playbooks import Ansible, PlaybookRun

testinfra_hosts = ["podman://kubegang-debian12"]

SCENARIO = Path(__file__).parents[2]
VERSION = "/sys/module/nvidia/version"
CONFIG = "/etc/containerd/config.toml"
DROP_IN = "/etc/containerd/conf.d/99-nvidia.toml"
SPEC = "/var/run/cdi/nvidia.yaml"
FAULTS_OF_GPUS = "/run/gpu-double"
MODULE = "$(modinfo --field filename nvidia)"
PIN = "/etc/apt/preferences.d/kubegang-nvidia-driver"


def logged(message: str) -> str:
    """Puts a kernel's message into the journal, as a file of it: journald itself takes such messages from the kernel only."""
    return rf"""
folder=$(dirname "$(journalctl --header | sed -n 's/File path: //p' | head -1)")
/lib/systemd/systemd-journal-remote --output="$folder/double.journal" - <<END
__REALTIME_TIMESTAMP=$(date +%s%6N)
__MONOTONIC_TIMESTAMP=1
_BOOT_ID=$(tr -d - < /proc/sys/kernel/random/boot_id)
_TRANSPORT=kernel
SYSLOG_IDENTIFIER=kernel
MESSAGE={message}

END
"""


@dataclass(frozen=True)
class Fault:
    """What breaks the host and what repairs it, and what verification has to find."""

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
        f"echo 535.183.06 > {VERSION}",
        f"modinfo --field version nvidia > {VERSION}",
        {"reboot-pending", "module-version", "nvidia-smi", "gpu-count"},
        ("exit code 18", "mismatch", "535.183.06"),
    ),
    "module not loaded": Fault(
        "mv /sys/module/nvidia /run/nvidia",
        "mv /run/nvidia /sys/module/nvidia",
        {"module-loaded", "nvidia-smi", "gpu-count"},
        ("exit code 9", "not loaded"),
    ),
    "GPU that is lost": Fault(
        f"mkdir -p {FAULTS_OF_GPUS} && echo 1 > {FAULTS_OF_GPUS}/lost",
        f"rm -r {FAULTS_OF_GPUS}",
        {"nvidia-smi", "gpu-count"},
        ("exit code 15", "lost"),
    ),
    "GPU that the bus does not show": Fault(
        "mkdir -p /run/pci && cp -r /sys/bus/pci/devices/0000:17:00.0 /run/pci && mount --bind /run/pci /sys/bus/pci/devices",
        "umount /sys/bus/pci/devices",
        {"pci-count"},
    ),
    "device node that is missing": Fault(
        "rm /dev/nvidia1",
        "mknod -m 666 /dev/nvidia1 c 195 1",
        {"device-nodes"},
        ("/dev/nvidia1",),
    ),
    "nouveau": Fault(
        "mkdir /sys/module/nouveau",
        "rmdir /sys/module/nouveau",
        {"nouveau", "reboot-pending"},
    ),
    "persistence daemon that is stopped": Fault(
        "systemctl stop nvidia-persistenced",
        "systemctl start nvidia-persistenced",
        {"persistenced"},
    ),
    "critical event": Fault(
        logged("NVRM: Xid (PCI:0000:18:00): 79, pid=1, name=train, GPU has fallen off the bus."),
        "rm /var/log/journal/*/double.journal",
        {"xid"},
        ("Xid 79", "0000:18:00"),
    ),
    "critical event of a switch": Fault(
        logged("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
        "rm /var/log/journal/*/double.journal",
        {"sxid"},
        ("SXid 20034", "0000:c1:00.0"),
    ),
    "NVML of another version": Fault(
        f"mkdir -p {FAULTS_OF_GPUS} && echo 535.183.06 > {FAULTS_OF_GPUS}/driver_version",
        f"rm -r {FAULTS_OF_GPUS}",
        {"nvml-version"},
        ("GPU 0 (00000000:17:00.0): 535.183.06", "GPU 1 (00000000:18:00.0): 535.183.06"),
    ),
    # What NVIDIA's installer leaves behind, and programs find before what the packages have.
    "user space of another version": Fault(
        'cp "$(ldconfig -p | sed -n "s/.*libnvidia-ml.so.1 .*=> //p")" /usr/local/lib/libnvidia-ml.so.535.183.06 && ldconfig',
        "rm /usr/local/lib/libnvidia-ml.so.* && ldconfig",
        {"library-version"},
        ("/usr/local/lib/libnvidia-ml.so.535.183.06",),
    ),
    "no module for the kernel": Fault(
        f"modinfo --field filename nvidia > /run/path && mv {MODULE} /run/nvidia.ko",
        'mv /run/nvidia.ko "$(cat /run/path)"',
        {"module-installed"},
    ),
    "another version than the wanted one": Fault(
        "true",
        "true",
        {"driver-version", "pin"},
        ("535.183.06", "535.309.01"),
        {"nvidia_driver_version": "535.183.06"},
    ),
    "package that an upgrade would replace": Fault(
        "apt-mark unhold libcuda1",
        "apt-mark hold libcuda1",
        {"hold"},
        ("not held: libcuda1",),
    ),
    "version that apt does not prefer any more": Fault(
        f"mv {PIN} /run/kept",
        f"mv /run/kept {PIN}",
        {"pin"},
        ("none preferred",),
    ),
    "persistence daemon that does not start with the host": Fault(
        "systemctl disable nvidia-persistenced",
        "systemctl enable nvidia-persistenced",
        {"persistenced"},
        ("disabled",),
    ),
    "no Fabric Manager": Fault(
        "true",
        "true",
        {"fabric-manager"},
        ("nvidia-fabricmanager",),
        {"nvidia_driver_fabric_manager": "present"},
    ),
}
TOOLKIT_FAULTS = {
    "packages of another version": Fault(
        "true",
        "true",
        {"package-version"},
        ("libnvidia-container1 1.19.1",),
        {"nvidia_container_toolkit_version": "1.19.1"},
    ),
    "drop-in that nobody imports": Fault(
        edited(CONFIG, "/^imports/d"),
        f"mv {CONFIG}.kept {CONFIG}",
        {"runtime-import"},
        (DROP_IN,),
    ),
    "drop-in that is gone": Fault(
        f"mv {DROP_IN} /run/kept",
        f"mv /run/kept {DROP_IN}",
        {"runtime-entry"},
    ),
    "drop-in that shadows what the user has added": Fault(
        edited(CONFIG, "/io.containerd.grpc.v1.cri.]/a max_concurrent_downloads = 5"),
        f"mv {CONFIG}.kept {CONFIG}",
        {"runtime-drop-in"},
    ),
    "another program as the runtime": Fault(
        edited(DROP_IN, "s,/usr/bin/nvidia-container-runtime,/usr/bin/runc,"),
        f"mv {DROP_IN}.kept {DROP_IN}",
        {"runtime-binary", "runtime-drop-in"},
        ("/usr/bin/runc",),
    ),
    "other cgroups than runc": Fault(
        edited(DROP_IN, "0,/SystemdCgroup = true/s//SystemdCgroup = false/"),
        f"mv {DROP_IN}.kept {DROP_IN}",
        {"runtime-cgroups", "runtime-drop-in"},
    ),
    "runc as the default runtime": Fault(
        "true",
        "true",
        {"runtime-default", "runtime-drop-in"},
        (),
        {"nvidia_container_toolkit_default_runtime": "true"},
    ),
    "containerd that is stopped": Fault(
        "systemctl stop containerd",
        "systemctl start containerd",
        {"runtime-service"},
    ),
    "runtime that is not installed": Fault(
        "true",
        "true",
        {"runtime-service", "runtime-entry"},
        ("docker active, found absent",),
        {"nvidia_container_toolkit_runtime": "docker"},
    ),
    "configuration that containerd has not read": Fault(
        f"sleep 2; touch {DROP_IN}",
        "systemctl restart containerd",
        {"runtime-restart"},
        (DROP_IN,),
    ),
    "no CDI specification": Fault(
        f"mv {SPEC} /run/kept",
        f"mv /run/kept {SPEC}",
        {"cdi-spec"},
    ),
    "CDI specification from before the driver": Fault(
        f"touch --date='2 days ago' {SPEC}",
        f"touch {SPEC}",
        {"cdi-stale"},
    ),
    "CDI specification of another driver's files": Fault(
        edited(SPEC, "s/535.309.01/535.183.06/"),
        f"mv {SPEC}.kept {SPEC}",
        {"cdi-paths"},
        ("libcuda.so.535.183.06",),
    ),
    "CDI specification without one GPU": Fault(
        "mknod -m 666 /dev/nvidia2 c 195 2",
        "rm /dev/nvidia2",
        {"cdi-devices"},
        ("3 GPUs",),
    ),
    "second CDI specification": Fault(
        f"mkdir -p /etc/cdi && cp {SPEC} /etc/cdi/nvidia.yaml",
        "rm -r /etc/cdi",
        {"cdi-conflict"},
    ),
    "CDI specification that nobody refreshes": Fault(
        "systemctl disable nvidia-cdi-refresh.service",
        "systemctl enable nvidia-cdi-refresh.service",
        {"cdi-unit"},
    ),
    "driver that is not loaded": Fault(
        "mv /sys/module/nvidia /run/nvidia",
        "mv /run/nvidia /sys/module/nvidia",
        {"driver-loaded"},
    ),
}
FAULTS = {**DRIVER_FAULTS, **TOOLKIT_FAULTS}
# Faults that do not hide each other are there together, because a look at a host takes its time.
DRIVER_GROUPS = [
    [
        "GPU that the bus does not show",
        "device node that is missing",
        "nouveau",
        "persistence daemon that is stopped",
        "critical event",
        "user space of another version",
        "package that an upgrade would replace",
        "version that apt does not prefer any more",
    ],
    [
        "module of another version",
        "persistence daemon that does not start with the host",
        "critical event of a switch",
        "no Fabric Manager",
    ],
    ["module not loaded", "another version than the wanted one"],
    ["GPU that is lost", "no module for the kernel"],
    ["NVML of another version"],
]
TOOLKIT_GROUPS = [
    [
        "packages of another version",
        "drop-in that nobody imports",
        "containerd that is stopped",
        "second CDI specification",
        "CDI specification that nobody refreshes",
    ],
    ["drop-in that is gone", "CDI specification of another driver's files", "CDI specification without one GPU"],
    ["another program as the runtime", "CDI specification from before the driver"],
    ["other cgroups than runc", "driver that is not loaded"],
    ["configuration that containerd has not read", "runc as the default runtime"],
    ["drop-in that shadows what the user has added"],
    ["runtime that is not installed", "no CDI specification"],
]
GROUPS = [
    *(("nvidia_driver", group) for group in DRIVER_GROUPS),
    *(("nvidia_container_toolkit", group) for group in TOOLKIT_GROUPS),
]


def verify(ansible: Ansible, role: str, variables: dict[str, str] | None = None) -> PlaybookRun:
    return ansible.playbook(SCENARIO / "verify_role.yml", extra_vars={"role": role, **(variables or {})})


def findings(run: PlaybookRun, role: str) -> list[dict]:
    return run.task("Report")["ansible_facts"][f"{role}_report"]["findings"]


@contextmanager
def broken(host, names: list[str]) -> Iterator[None]:
    with ExitStack() as repairs:
        for name in names:
            repairs.callback(host.check_output, "sh -ec %s", FAULTS[name].repairing)
            host.check_output("sh -ec %s", FAULTS[name].breaking)
        yield


def test_every_fault_has_its_turn():
    assert sorted(name for _role, group in GROUPS for name in group) == sorted(FAULTS)


@pytest.mark.parametrize(("role", "names"), GROUPS, ids=[", ".join(group) for _role, group in GROUPS])
def test_faults_are_found_and_nothing_else(host, ansible, role, names):
    faults = [FAULTS[name] for name in names]
    variables = {key: value for fault in faults for key, value in fault.variables.items()}
    with broken(host, names):
        run = verify(ansible, role, variables)
    assert run.returncode != 0
    assert {finding["id"] for finding in findings(run, role)} == set().union(*(fault.findings for fault in faults))
    assert run.changed == []
    said = run.results[-1].msg
    assert [word for fault in faults for word in (*fault.findings, *fault.words) if word not in said] == []


def test_kernel_log_that_nobody_can_read_is_a_warning(host, ansible):
    host.check_output('mount --bind /bin/false "$(command -v journalctl)"')
    try:
        run = verify(ansible, "nvidia_driver").checked()
    finally:
        host.check_output('umount "$(command -v journalctl)"')
    assert [(finding["id"], finding["severity"]) for finding in findings(run, "nvidia_driver")] == [
        ("kernel-log", "warning")
    ]
    assert "WARNING: kernel-log" in run.output


@pytest.mark.parametrize("role", ["nvidia_driver", "nvidia_container_toolkit"])
def test_repaired_host_has_no_finding(ansible, role):
    run = verify(ansible, role).checked()
    assert findings(run, role) == []
    assert run.changed == []
