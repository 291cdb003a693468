# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints, as JSON, what a host shows of its GPUs and of their driver. Reads only, judges nothing and needs no network.

What this means is decided elsewhere (plugins/plugin_utils/_gpu_host.py), so that it can be decided again from a saved look.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import subprocess

NVIDIA = "0x10de"
MODULES = ("nvidia", "nvidia-current")
UNITS = ("nvidia-persistenced", "nvidia-fabricmanager")
GPU_QUERY = "--query-gpu=index,uuid,name,driver_version,pci.bus_id"
# The GPU Operator's driver container shows its own root here.
OPERATOR_ROOT = "/run/nvidia/driver"
MOK_KEYS = ("/var/lib/dkms/mok.pub", "/var/lib/shim-signed/mok/MOK.der")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# A host with hundreds of events has a problem that the first of them show as well.
EVENTS = 200


def text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def run(*command):
    """Exit status and output of a program; 127, as the shell says it, when there is none."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    except FileNotFoundError:
        return {"rc": 127, "stdout": "", "stderr": command[0] + ": not found"}
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"rc": 124, "stdout": "", "stderr": str(error)}
    output = {"stdout": done.stdout.decode(errors="replace"), "stderr": done.stderr.decode(errors="replace")}
    return {"rc": done.returncode, **output}


def pci():
    """NVIDIA's devices: GPUs (class 03), NVSwitches (class 0680), sound and USB functions of graphics cards."""
    devices = []
    for folder in sorted(glob.glob("/sys/bus/pci/devices/*")):
        if text(folder + "/vendor") == NVIDIA:
            driver = (
                os.path.basename(os.path.realpath(folder + "/driver")) if os.path.exists(folder + "/driver") else ""
            )
            device = {"address": os.path.basename(folder), "driver": driver}
            devices.append({**device, **{name: text(folder + "/" + name) for name in ("device", "class")}})
    return devices


def installed_module():
    """Version of the module that modprobe would load. Debian calls the file nvidia-current."""
    for name in MODULES:
        found = run("modinfo", "-F", "version", name)
        if found["rc"] == 0 and found["stdout"].strip():
            return found["stdout"].split()[0]
    return ""


def loaded_module():
    versions = [text("/sys/module/" + name.replace("-", "_") + "/version") for name in MODULES]
    return next((version for version in versions if version), "")


def nvidia_smi(switches):
    """What nvidia-smi answers, in the operator's root when the driver lives there."""
    operator = os.path.exists(OPERATOR_ROOT + "/usr/bin/nvidia-smi")
    path = OPERATOR_ROOT + "/usr/bin/nvidia-smi" if operator else shutil.which("nvidia-smi") or ""
    if not path:
        return {"path": ""}
    command = ["chroot", OPERATOR_ROOT, "nvidia-smi"] if operator else [path]
    answers = {"path": path, "list": run(*command, "-L"), "query": run(*command, GPU_QUERY, "--format=csv,noheader")}
    if switches:
        answers["full"] = run(*command, "-q")
    return answers


def nvml_library():
    """The file of NVML that programs get; its name ends with the version of the driver's user space."""
    cache = run("ldconfig", "-p")["stdout"]
    path = re.search(r"libnvidia-ml\.so\.1 \(.*\) => (\S+)", cache)
    return os.path.realpath(path.group(1)) if path else ""


def unit(name):
    show = run("systemctl", "show", name + ".service", "--property=LoadState,ActiveState,UnitFileState")
    pairs = dict(line.split("=", 1) for line in show["stdout"].splitlines() if "=" in line)
    return {
        "load": pairs.get("LoadState", ""),
        "active": pairs.get("ActiveState", ""),
        "enabled": pairs.get("UnitFileState", ""),
    }


def secure_boot():
    """Whether the firmware checks signatures. Without mokutil the firmware's own variable says it."""
    state = run("mokutil", "--sb-state")
    if state["rc"] != 127:
        return "SecureBoot enabled" in state["stdout"]
    try:
        with open(SECURE_BOOT, "rb") as variable:
            return variable.read()[-1:] == b"\x01"
    except OSError:
        return False


def enrolled_key():
    """The key that DKMS signs with, if the firmware trusts it."""
    for key in MOK_KEYS:
        if os.path.exists(key) and "is already enrolled" in run("mokutil", "--test-key", key)["stdout"]:
            return key
    return ""


def kernel_events():
    """Lines about Xid and SXid of this boot. Read from the journal, because the kernel's own buffer forgets them."""
    journal = run("journalctl", "--dmesg", "--boot", "--no-pager", "--quiet", "--output=short-iso")
    lines = [line for line in journal["stdout"].splitlines() if re.search(r"\bS?Xid \(", line)]
    return {"readable": journal["rc"] == 0, "lines": lines[:EVENTS], "total": len(lines)}


def holds():
    """What keeps packages from upgrades, in the words of each package manager that is here."""
    return {
        "apt": run("apt-mark", "showhold")["stdout"],
        "pin": text("/etc/apt/preferences.d/kubegang-nvidia-driver"),
        "dnf": text("/etc/dnf/plugins/versionlock.list"),
        "zypp": text("/etc/zypp/locks"),
    }


def containers():
    release = os.uname().release.lower()
    wsl = "microsoft" in release or os.path.exists("/dev/dxg")
    detected = run("systemd-detect-virt", "--container")["stdout"].strip()
    marks = [mark for mark in ("/run/.containerenv", "/.dockerenv", "/run/systemd/container") if os.path.exists(mark)]
    container = detected if detected not in ("", "none") else ("container" if marks else "")
    return "WSL" if wsl else container


def look():
    kernel = os.uname().release
    devices = pci()
    switches = [device for device in devices if device["class"].startswith("0x0680")]
    programs = ("update-initramfs", "dracut", "nv-fabricmanager", "nvidia-uninstall")
    return {
        "root": os.geteuid() == 0,
        "kernel": kernel,
        "headers": os.path.exists("/lib/modules/" + kernel + "/build/Makefile"),
        "container": containers(),
        "secure_boot": secure_boot(),
        "enrolled_key": enrolled_key(),
        "pci": devices,
        "loaded": loaded_module(),
        "proc_version": text("/proc/driver/nvidia/version").partition("\n")[0],
        "installed": installed_module(),
        "nouveau": os.path.isdir("/sys/module/nouveau"),
        "nvidia_smi": nvidia_smi(switches or glob.glob("/proc/driver/nvidia-nvswitch/devices/*")),
        "nvml_library": nvml_library(),
        "device_nodes": sorted(path for path in os.listdir("/dev") if path.startswith("nvidia")),
        "switches": len(switches) or len(glob.glob("/proc/driver/nvidia-nvswitch/devices/*")),
        "units": {name: unit(name) for name in UNITS},
        "fabric_manager": run("nv-fabricmanager", "--version")["stdout"].strip()
        if shutil.which("nv-fabricmanager")
        else "",
        "kernel_events": kernel_events(),
        "programs": {name: shutil.which(name) or "" for name in programs},
        "holds": holds(),
        "operator": os.path.isdir(OPERATOR_ROOT + "/usr"),
        "dgx": text("/etc/dgx-release"),
        "managed": os.path.exists("/etc/modprobe.d/kubegang-nvidia-driver.conf"),
    }


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
    print(json.dumps(look()))
