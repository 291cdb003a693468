# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab needs of the machine: root, Linux, some Debian packages and disk."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .errors import LabError
from .place import LABS
from .progress import say
from .shell import run, succeeds

_TOOLS = {"ip": "iproute2", "nsenter": "util-linux", "unshare": "util-linux"}
_TOOLS_OF_REAL_NODE = {
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "busybox": "busybox-static",
    "openssl": "openssl",
}
_PLUGIN_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"), Path("/usr/libexec/cni"))
_PLUGIN_PACKAGE = "containernetworking-plugins"
# A package that finds this file says no when asked to start its service.
_SERVICE_POLICY = Path("/usr/sbin/policy-rc.d")
_LAB_BYTES = 4 * 2**30


def require(real_node: bool) -> None:
    """Complains in one line about what is missing, after installing what can be."""
    require_root()
    _require_disk()
    missing = _missing_packages(real_node)
    if missing:
        _install(missing)


def require_root() -> None:
    if platform.system() != "Linux":
        raise LabError(f"the lab needs Linux for its namespaces and cgroups, and this is {platform.system()}")
    if os.geteuid() != 0:
        raise LabError("the lab needs root for its namespaces, mounts and cgroups: run it with sudo")


def require_tools(tools: Mapping[str, str]) -> None:
    """Program → the Debian package that brings it: what is missing is installed."""
    missing = sorted({package for tool, package in tools.items() if shutil.which(tool) is None})
    if missing:
        _install(missing)


def plugin_folder() -> Path | None:
    """Where the CNI plugins are."""
    return next((folder for folder in _PLUGIN_FOLDERS if (folder / "bridge").exists()), None)


def _require_disk() -> None:
    existing = next(path for path in (LABS, *LABS.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < _LAB_BYTES:
        raise LabError(f"{existing} has {free / 2**30:.1f} GiB free and a lab needs {_LAB_BYTES / 2**30:.0f}")


def _missing_packages(real_node: bool) -> list[str]:
    tools = {**_TOOLS, **(_TOOLS_OF_REAL_NODE if real_node else {})}
    missing = {package for tool, package in tools.items() if shutil.which(tool) is None}
    if real_node and plugin_folder() is None:
        missing.add(_PLUGIN_PACKAGE)
    return sorted(missing)


def _install(packages: list[str]) -> None:
    words = ", ".join(packages)
    if shutil.which("apt-get") is None:
        raise LabError(
            f"this machine lacks what the Debian packages {words} bring, and there is no apt-get to install them"
        )
    say(f"installing {words}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with _no_service_starts():
        run(["apt-get", "update", "--quiet"], env=env, what=f"install {words}")
        run(["apt-get", "install", "--yes", "--no-install-recommends", *packages], env=env, what=f"install {words}")
    if "containerd" in packages:
        # The lab starts a containerd of its own; the package's must not come up at the next boot either.
        succeeds(["systemctl", "disable", "containerd"])


@contextmanager
def _no_service_starts() -> Iterator[None]:
    if _SERVICE_POLICY.exists():
        yield  # the machine has a policy, which is not ours to change
        return
    _SERVICE_POLICY.write_text("#!/bin/sh\nexit 101\n")
    _SERVICE_POLICY.chmod(0o755)
    try:
        yield
    finally:
        _SERVICE_POLICY.unlink()
