# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: nvidia_driver_findings
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Find what is wrong with the NVIDIA driver of a host
description:
  - Compares what a host shows of its GPUs in several places, which agree on a healthy host. PCI counts the GPUs, the kernel
    says which module is loaded, the disk which one is installed, NVML which one it talks to, and the kernel's log what has
    gone wrong since the host was started.
  - All findings are reported, not only the first.
positional: _input
options:
  _input:
    description: A look at the host, as C(files/look.py) of role P(kubegang.core.nvidia_driver#role) prints it.
    type: dict
    required: true
  version:
    description: The driver's wanted version or branch. Empty means any.
    type: str
    default: ""
  gpus:
    description: How many GPUs the host has. V(0) means as many as PCI shows.
    type: int
    default: 0
  persistenced:
    description: Whether nvidia-persistenced should run. It does not matter where the GPU Operator runs the driver.
    type: bool
    default: true
  fabric_manager:
    description: Whether the NVIDIA Fabric Manager should run.
    type: bool
    default: false
  held:
    description: Names of packages that should keep their version through upgrades.
    type: list
    elements: str
    default: []
  pinned:
    description: Whether apt should prefer O(version), by the file of preferences that the role writes.
    type: bool
    default: false
  modprobe:
    description: What an attempt to load the module returned, if there was one.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Name what is wrong
  ansible.builtin.debug:
    msg: "{{ item.id }}: expected {{ item.expected }}, found {{ item.found }}; {{ item.remedy }}"
  loop: "{{ look.stdout | from_json | kubegang.core.nvidia_driver_findings(gpus=8, fabric_manager=true) }}"
"""

RETURN = r"""
_value:
  description: What was found, errors first.
  type: list
  elements: dict
  contains:
    id:
      description: The check, such as V(nvml-version).
      type: str
    severity:
      description: V(error), or V(warning) for events that leave the GPUs usable.
      type: str
    expected:
      description: What a healthy host shows.
      type: str
    found:
      description: What this host shows.
      type: str
    remedy:
      description: What to do about it.
      type: str
"""

from collections.abc import Iterator
from typing import Any

from ansible_collections.kubegang.core.plugins.plugin_utils import _gpu_host as host
from ansible_collections.kubegang.core.plugins.plugin_utils._gpu_events import events

Finding = dict[str, Any]

_EVENT_REMEDIES = {
    "error": "drain the host; reset the GPU or reboot; have it replaced when the event comes back",
    "warning": "look at what ran there at that time",
}


def nvidia_driver_findings(
    look: dict,
    version: str = "",
    gpus: int = 0,
    persistenced: bool = True,
    fabric_manager: bool = False,
    held: list[str] | None = None,
    pinned: bool = False,
    modprobe: dict | None = None,
) -> list[Finding]:
    """Everything that differs from a healthy host."""
    count = gpus or len(host.gpus(look))
    findings = [
        *_hardware(look, count),
        *_reboot(look, modprobe),
        *_module(look, version),
        *_hold(look, held or [], version if pinned else ""),
        *_nvidia_smi(look, count),
        *_device_nodes(look, count),
        *(_persistenced(look) if persistenced and not look["operator"] else []),
        *(_fabric_manager(look) if fabric_manager and not look["operator"] else []),
        *(_fabric(look) if fabric_manager else []),
        *_events(look),
    ]
    return sorted(findings, key=lambda finding: finding["severity"] != "error")


def _hardware(look: dict, count: int) -> Iterator[Finding]:
    found = len(host.gpus(look))
    if found != count:
        yield host.finding(
            "pci-count", f"{count} GPUs on the PCI bus", found, "look for a GPU that is not seated, or has no power"
        )


def _reboot(look: dict, modprobe: dict | None) -> Iterator[Finding]:
    reasons = host.reboot_reasons(look, modprobe)
    if reasons:
        remedy = "reboot the host, drained; nvidia_driver_reboot: allow does both"
        yield host.finding("reboot-pending", "a host that runs what is installed", "; ".join(reasons), remedy)


def _module(look: dict, version: str) -> Iterator[Finding]:
    loaded, installed = host.loaded_version(look), look["installed"]
    if look["nouveau"]:
        yield host.finding(
            "nouveau", "nouveau not loaded", "loaded", "blacklist nouveau, rebuild the initramfs, reboot"
        )
    if not loaded:
        yield host.finding(
            "module-loaded",
            f"module {installed or 'nvidia'} loaded",
            "not loaded",
            "modprobe nvidia; the kernel's log says why it fails",
        )
    # The operator's container holds the module; the host's disk has none.
    if not installed and not look["operator"]:
        remedy = "install the driver for this kernel; with DKMS, dkms autoinstall builds it"
        yield host.finding("module-installed", f"a module for kernel {look['kernel']}", "none", remedy)
    if loaded and installed and loaded != installed:
        yield host.finding(
            "module-version",
            f"module {installed} loaded, as installed",
            loaded,
            "reboot, or unload the old module and load the new one",
        )
    actual = installed or loaded
    if actual and not host.is_version(actual, version):
        yield host.finding(
            "driver-version", f"driver {version}", actual, "change nvidia_driver_version, or let the role install it"
        )


def _hold(look: dict, names: list[str], pin: str) -> Iterator[Finding]:
    remedy = "run the role nvidia_driver, or set nvidia_driver_hold: false"
    loose = sorted(set(names) - host.held_packages(look))
    if loose:
        yield host.finding("hold", "packages held against upgrades", f"not held: {', '.join(loose)}", remedy)
    preferred = look["holds"]["pin"].partition("Pin: version ")[2].partition("\n")[0]
    if pin and not preferred.startswith(pin):
        yield host.finding("pin", f"apt prefers version {pin}", preferred or "none preferred", remedy)


def _nvidia_smi(look: dict, count: int) -> Iterator[Finding]:
    code = host.smi_code(look)
    if code:
        remedy = host.SMI_CODES.get(code, ("", "look at the kernel's log"))[1]
        yield host.finding("nvidia-smi", "exit code 0", host.smi_words(look), remedy)
    listed = len(host.listed_gpus(look))
    if listed != count:
        yield host.finding(
            "gpu-count",
            f"{count} GPUs, as on the PCI bus",
            f"nvidia-smi -L lists {listed}",
            "look for Xid 79 and RmInitAdapter in the kernel's log",
        )
    loaded = host.loaded_version(look)
    library, module = host.library_version(look), look["installed"] or loaded
    if library and module and library != module:
        remedy = "install all of the driver at one version"
        yield host.finding(
            "library-version", f"NVML {module}, as the module", f"{library} ({look['nvml_library']})", remedy
        )
    for gpu in host.queried_gpus(look):
        if loaded and gpu["driver_version"] != loaded:
            where = f"GPU {gpu['index']} ({gpu['address']}): {gpu['driver_version']}"
            yield host.finding(
                "nvml-version", f"{loaded}, as loaded", where, "install all of the driver at one version, and reboot"
            )


def _device_nodes(look: dict, count: int) -> Iterator[Finding]:
    wanted = [*(f"nvidia{number}" for number in range(count)), "nvidiactl", "nvidia-uvm"] if count else []
    missing = [f"/dev/{name}" for name in wanted if name not in look["device_nodes"]]
    if missing:
        remedy = "nvidia-modprobe -c0 -u makes them; nvidia-persistenced does so when the host starts"
        yield host.finding(
            "device-nodes",
            f"/dev/nvidia0 to {count - 1}, nvidiactl, nvidia-uvm",
            f"missing: {', '.join(missing)}",
            remedy,
        )


def _persistenced(look: dict) -> Iterator[Finding]:
    yield from _unit(look, "nvidia-persistenced", "persistenced")


def _unit(look: dict, name: str, check: str) -> Iterator[Finding]:
    unit = look["units"][name]
    if unit["load"] in ("", "not-found"):
        yield host.finding(check, f"{name} active", "not installed", f"install {name}")
    elif unit["active"] != "active":
        yield host.finding(check, f"{name} active", unit["active"], f"systemctl status {name} says why")
    elif unit["enabled"] == "disabled":
        yield host.finding(
            check, f"{name} enabled", "disabled: it does not start with the host", f"systemctl enable {name}"
        )


def _fabric_manager(look: dict) -> Iterator[Finding]:
    yield from _unit(look, "nvidia-fabricmanager", "fabric-manager")
    version, driver = host.fabric_manager_version(look), host.loaded_version(look)
    if version and driver and version != driver:
        yield host.finding(
            "fabric-manager-version",
            f"{driver}, exactly the driver's",
            version,
            "install the Fabric Manager of the driver's version",
        )


def _fabric(look: dict) -> Iterator[Finding]:
    states = host.fabric_states(look)
    unready = sorted({state for state in states if state != "Completed"})
    if unready:
        found = f"{sum(state != 'Completed' for state in states)} of {len(states)} GPUs: {', '.join(unready)}"
        yield host.finding(
            "fabric-state", "fabric state Completed on each GPU", found, "look at the Fabric Manager's log"
        )


def _events(look: dict) -> Iterator[Finding]:
    if not look["kernel_events"]["readable"]:
        yield host.finding(
            "kernel-log",
            "a kernel log of this boot",
            "journalctl cannot read it",
            "run as root; keep a journal",
            "warning",
        )
    for event in events(look["kernel_events"]["lines"]):
        expected = f"no {event['kind']} since the host was started"
        found = f"{event['kind']} {event['code']} on {event['address']}, {event['count']} times: {event['text']}"
        yield host.finding(
            event["kind"].lower(), expected, found, _EVENT_REMEDIES[event["severity"]], event["severity"]
        )


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"nvidia_driver_findings": nvidia_driver_findings}
