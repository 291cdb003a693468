# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A look at a healthy GPU host, and what differs on others. What programs say is what the real ones said."""

from __future__ import annotations

from copy import deepcopy

DRIVER = "535.309.01"
H200 = "0x2335"
_UUIDS = ("GPU-d0b1e000-0000-4000-8000-000000000000", "GPU-d0b1e000-0000-4000-8000-000000000001")
_ADDRESSES = ("00000000:17:00.0", "00000000:18:00.0")

NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.309\n"
LOST = "Unable to determine the device handle for gpu 1: GPU is lost. Reboot the system to recover this GPU\n"


def answer(rc=0, stdout="", stderr=""):
    return {"rc": rc, "stdout": stdout, "stderr": stderr}


def listing(count=2):
    return "".join(f"GPU {number}: NVIDIA H200 (UUID: {_UUIDS[number]})\n" for number in range(count))


def rows(*versions):
    return "".join(
        f"{number}, {_UUIDS[number]}, NVIDIA H200, {version}, {_ADDRESSES[number]}\n"
        for number, version in enumerate(versions)
    )


def gpu(address="0000:17:00.0", device=H200):
    return {"address": address, "driver": "nvidia", "device": device, "class": "0x030200"}


HEALTHY = {
    "root": True,
    "kernel": "6.1.0-57-amd64",
    "headers": True,
    "container": "",
    "secure_boot": False,
    "enrolled_key": "",
    "pci": [gpu(), gpu("0000:18:00.0"), {**gpu("0000:17:00.1", "0x22ba"), "class": "0x040300"}],
    "loaded": DRIVER,
    "proc_version": f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  Tue Jun 23 08:38:17 UTC 2026",
    "installed": DRIVER,
    "nouveau": False,
    "nvidia_smi": {
        "path": "/usr/bin/nvidia-smi",
        "list": answer(stdout=listing()),
        "query": answer(stdout=rows(DRIVER, DRIVER)),
    },
    "nvml_library": f"/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.{DRIVER}",
    "device_nodes": ["nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidia1", "nvidiactl"],
    "switches": 0,
    "units": {
        "nvidia-persistenced": {"load": "loaded", "active": "active", "enabled": "enabled"},
        "nvidia-fabricmanager": {"load": "not-found", "active": "inactive", "enabled": ""},
    },
    "fabric_manager": "",
    "kernel_events": {"readable": True, "lines": [], "total": 0},
    "programs": {"update-initramfs": "/usr/sbin/update-initramfs", "dracut": "", "nv-fabricmanager": "", "nvidia-uninstall": ""},
    "holds": {"apt": "", "pin": "", "dnf": "", "zypp": ""},
    "operator": False,
    "dgx": "",
    "managed": False,
}  # fmt: skip
BARE = {
    **HEALTHY,
    "loaded": "",
    "proc_version": "",
    "installed": "",
    "nvidia_smi": {"path": ""},
    "nvml_library": "",
    "device_nodes": [],
    "units": {name: {"load": "not-found", "active": "inactive", "enabled": ""} for name in HEALTHY["units"]},
}


def look(base=HEALTHY, **differences):
    return {**deepcopy(base), **differences}


def smi(listed=None, queried=None, **more):
    """What nvidia-smi answers: to -L and to the query; the second is as the first when only that is given."""
    listed = listed or answer(stdout=listing())
    return {"path": "/usr/bin/nvidia-smi", "list": listed, "query": queried or listed, **more}


def unit(active="active", enabled="enabled", load="loaded"):
    return {"load": load, "active": active, "enabled": enabled}


def events(*lines):
    return {"readable": True, "lines": list(lines), "total": len(lines)}
