# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""What a look at a GPU host means. Pure: what roles/nvidia_driver/files/look.py printed in, words and numbers out."""

from __future__ import annotations

import csv
import re
from typing import Any

# What nvidia-smi's own manual says of its exit codes, and what to do about each.
SMI_CODES = {
    2: ("it was given an argument that it does not know", "compare nvidia-smi's version with the driver's"),
    3: ("the GPU does not support what was asked", "compare the GPU with the driver's list of supported products"),
    4: ("the user may not ask that", "run as root"),
    6: ("a query found no object", "look for a GPU that disappeared in the kernel's log"),
    8: ("a GPU's external power cable is not attached properly", "have the power cables checked"),
    9: ("the driver is not loaded", "modprobe nvidia; when that fails, the kernel's log says why"),
    10: ("the kernel found a problem with a GPU's interrupts", "look at the kernel's log; reboot"),
    12: ("libnvidia-ml.so was not found", "install the driver's user-space packages"),
    13: ("libnvidia-ml.so is too old for this nvidia-smi", "install all of the driver at one version"),
    14: ("a GPU's infoROM is corrupted", "reset the GPU; when that does not help, have it replaced"),
    15: ("a GPU is lost: it fell off the bus, or cannot be reached", "reboot the host; have the GPU replaced if it recurs"),
    18: ("driver and library versions mismatch", "reboot the host, or unload the old module and load the new one"),
    124: ("it did not answer within two minutes", "look for a hanging GPU in the kernel's log; reboot"),
    127: ("it is not installed", "install the driver's user-space packages"),
    255: ("an error of its own, often that NVML has another version", "install all of the driver at one version"),
}  # fmt: skip

# First device ids of architectures: what is older than Turing needs proprietary modules, what is as new as Blackwell open ones.
_TURING = 0x1E00
_BLACKWELL = 0x2900
_GRACE_HOPPER = (0x2342, 0x2345)


def finding(check: str, expected: Any, found: Any, remedy: str, severity: str = "error") -> dict[str, Any]:
    """What a verification reports: an error keeps GPUs from being used, a warning does not."""
    return {"id": check, "severity": severity, "expected": str(expected), "found": str(found), "remedy": remedy}


def device_id(device: dict[str, Any]) -> int:
    return int(device["device"], 16)


def gpus(look: dict[str, Any]) -> list[dict[str, Any]]:
    """PCI devices that are display controllers of any kind: class 03xx."""
    return [device for device in look["pci"] if device["class"].startswith("0x03")]


def older_than_turing(look: dict[str, Any]) -> list[str]:
    return [device["address"] for device in gpus(look) if device_id(device) < _TURING]


def open_modules_only(look: dict[str, Any]) -> list[str]:
    """GPUs that the proprietary modules do not drive."""
    return [
        device["address"]
        for device in gpus(look)
        if device_id(device) >= _BLACKWELL or device_id(device) in _GRACE_HOPPER
    ]


def loaded_version(look: dict[str, Any]) -> str:
    """Version of the loaded module; sysfs has it, and older modules say it in /proc only."""
    version = re.search(r"Module\s+(?:for \S+\s+)?(\d+\.\d+(?:\.\d+)?)", look["proc_version"])
    return look["loaded"] or (version[1] if version else "")


def library_version(look: dict[str, Any]) -> str:
    """Version of the driver's user space, by the name of its NVML."""
    return look["nvml_library"].partition(".so.")[2]


def fabric_manager_version(look: dict[str, Any]) -> str:
    version = re.search(r"\d+\.\d+(?:\.\d+)?", look["fabric_manager"])
    return version[0] if version else ""


def listed_gpus(look: dict[str, Any]) -> list[str]:
    """The GPUs that nvidia-smi -L lists; MIG instances stand indented below theirs."""
    listing = look["nvidia_smi"].get("list", {"stdout": ""})["stdout"]
    return re.findall(r"^GPU \d+: (.*)$", listing, flags=re.MULTILINE)


def queried_gpus(look: dict[str, Any]) -> list[dict[str, str]]:
    """Index, UUID, name, NVML's driver version and PCI address of each GPU that answered."""
    query = look["nvidia_smi"].get("query", {"stdout": ""})["stdout"]
    keys = ("index", "uuid", "name", "driver_version", "address")
    rows = [[field.strip() for field in row] for row in csv.reader(query.splitlines())]
    return [dict(zip(keys, row)) for row in rows if len(row) == len(keys) and row[0].isdigit()]


def smi_code(look: dict[str, Any]) -> int:
    """The exit code of the first of nvidia-smi's answers that is not 0."""
    answers = [look["nvidia_smi"].get(name) for name in ("list", "query")]
    return next(
        (answer["rc"] for answer in answers if answer and answer["rc"]), 0 if look["nvidia_smi"]["path"] else 127
    )


def smi_words(look: dict[str, Any]) -> str:
    """What nvidia-smi's exit code means, with the first line that it said about it."""
    code = smi_code(look)
    meaning = SMI_CODES.get(code, ("an exit code that its manual does not name", ""))[0]
    said = [line for name in ("list", "query") for line in _complaints(look["nvidia_smi"].get(name))]
    return f"exit code {code}: {meaning}" + (f" ({said[0]})" if said else "")


def _complaints(answer: dict[str, Any] | None) -> list[str]:
    if not answer or not answer["rc"]:
        return []
    lines = [line.strip() for line in (answer["stdout"] + "\n" + answer["stderr"]).splitlines()]
    return [line for line in lines if line and not line.startswith(("GPU ", "MIG "))]


def reboot_reasons(look: dict[str, Any], modprobe: dict[str, Any] | None = None) -> list[str]:
    """Why this host has to be rebooted before its driver works; empty when it does not have to be.

    Facts decide, never that a package changed: a driver that loads needs no reboot.

    Args:
        modprobe: what the attempt to load the module returned (rc, stderr), when there was one.
    """
    loaded, installed = loaded_version(look), look["installed"]
    reasons = []
    if look["nouveau"]:
        reasons.append("nouveau is loaded and holds the GPUs")
    if loaded and installed and loaded != installed:
        reasons.append(f"module {loaded} is loaded, {installed} is installed")
    if not loaded and installed and modprobe and modprobe.get("rc"):
        reasons.append(f"the module cannot be loaded: {modprobe['stderr'].strip() or 'modprobe failed'}")
    return reasons


def owner(look: dict[str, Any]) -> str:
    """Who brought the driver: kubegang, operator, dgx, runfile, host (an image, an administrator), or none if there is none."""
    if look["operator"]:
        return "operator"
    if look["managed"]:
        return "kubegang"
    if not (loaded_version(look) or look["installed"] or look["nvidia_smi"]["path"]):
        return "none"
    if look["dgx"]:
        return "dgx"
    return "runfile" if look["programs"]["nvidia-uninstall"] else "host"


def held_packages(look: dict[str, Any]) -> set[str]:
    """Names of packages that keep their version: apt's holds, dnf's locks (name-epoch:version-release.*), and zypp's."""
    holds = look["holds"]
    locked = re.findall(r"^([^#!\s]+)-\d+:[^-\s]+-[^-\s]+$", holds["dnf"], flags=re.MULTILINE)
    return {*holds["apt"].split(), *locked, *re.findall(r"^solvable_name: (\S+)$", holds["zypp"], flags=re.MULTILINE)}


def fabric_states(look: dict[str, Any]) -> list[str]:
    """The state that nvidia-smi -q gives for each GPU's place in the NVLink fabric: Completed, In Progress, N/A …"""
    full = look["nvidia_smi"].get("full", {"stdout": ""})["stdout"]
    return re.findall(r"^\s+Fabric\s*\n\s+State\s+: (.*?)\s*$", full, flags=re.MULTILINE)


def is_version(actual: str, wanted: str) -> bool:
    """Whether a version is the wanted one, or of the wanted branch. Nothing wanted is: any."""
    return not wanted or actual == wanted or actual.startswith(f"{wanted}.")


def upstream(version: str) -> str:
    """The driver's version in that of a package: without epoch, the distribution's revision, and the kernel's version (SUSE)."""
    return re.split(r"[-_+~]", version.rpartition(":")[2])[0]
