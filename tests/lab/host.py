# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab needs of the machine: root, Linux, some Debian packages and disk."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

from .errors import LabError
from .place import LABS
from .progress import say
from .shell import run

_ALWAYS = {"ip": "iproute2", "nsenter": "util-linux"}
_REAL_NODE = {
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "busybox": "busybox-static",
    "openssl": "openssl",
    "unshare": "util-linux",
}
_CNI_PACKAGE = "containernetworking-plugins"
_RUNNING_LAB_BYTES = 4 * 2**30


def require(real_node: bool) -> None:
    """Complains in one line about what is missing, after installing what can be."""
    require_root()
    _require_disk(LABS)
    missing = _missing({**_ALWAYS, **(_REAL_NODE if real_node else {})})
    if real_node and not Path("/usr/lib/cni/bridge").exists() and not Path("/opt/cni/bin/bridge").exists():
        missing.append(_CNI_PACKAGE)
    if missing:
        _install(missing)


def require_root() -> None:
    if platform.system() != "Linux":
        raise LabError(f"the lab needs Linux (namespaces and cgroups); this is {platform.system()}")
    if os.geteuid() != 0:
        raise LabError("the lab needs root (namespaces, mounts and cgroups): run it with sudo")


def _missing(tools: Mapping[str, str]) -> list[str]:
    return sorted({package for tool, package in tools.items() if shutil.which(tool) is None})


def _install(packages: list[str]) -> None:
    if shutil.which("apt-get") is None:
        raise LabError(f"install what the Debian packages {', '.join(packages)} bring: there is no apt-get to do it")
    say(f"installing {', '.join(packages)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    what = f"install {', '.join(packages)}"
    # systemd keeps a masked unit down: the package would start a containerd of its own otherwise.
    run(["apt-get", "update", "--quiet"], env=env, what=what)
    run(["apt-get", "install", "--yes", "--no-install-recommends", *packages], env=env, what=what)


def _require_disk(folder: Path) -> None:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < _RUNNING_LAB_BYTES:
        raise LabError(f"{existing} has {free / 2**30:.1f} GiB free and a lab needs {_RUNNING_LAB_BYTES / 2**30:.0f}")
