# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts and stops hosts: containers with systemd as their first process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.host import require_root, require_tools
from tests.lab.lock import exclusively
from tests.lab.progress import say

from .image import image
from .packages import shelf
from .place import folder
from .podman import close, containers, podman
from .releases import RELEASES

_TOOLS = {
    "podman": "podman",
    "runc": "runc",
    "debootstrap": "debootstrap",
    "gpg": "gnupg",
    # With the headers of the C library.
    "gcc": "build-essential",
    "dpkg-deb": "dpkg",
}
# Podman asks for more than a root without CAP_SYS_RESOURCE may have.
_LIMITS = ["--ulimit=nofile=1024:4096", "--ulimit=nproc=4096:4096"]


def up(host: str) -> None:
    """Start the host anew: GPUs are in it, and no software of NVIDIA's."""
    require_root()
    require_tools(_TOOLS)
    release = RELEASES[host]
    wares = shelf(release)
    origin = image(release)
    with _alone():
        podman(
            *("run", "--detach", "--replace", f"--name={_name(host)}", f"--hostname={host}"),
            *("--privileged", "--systemd=always", "--network=host", *_LIMITS),
            # A disk of its own for containerd, because an overlay does not lie on another one; and what sysfs would say.
            *("--tmpfs=/var/lib/containerd", "--tmpfs=/sys/module:notmpcopyup"),
            f"--volume={wares / 'pci'}:/sys/bus/pci/devices:ro",
            f"--volume={wares}:/srv/gpu-host:ro",
            f"--volume={_downloads(host)}:/var/cache/apt/archives",
            origin,
            what=f"start {host}",
        )
    _await_systemd(host)
    _exec(host, "dpkg", "--install", "/srv/gpu-host/gpu-double.deb")
    say(f"{_name(host)} is up")


def down(hosts: Sequence[str]) -> None:
    """Stop these hosts, or all when none is named."""
    require_root()
    with _alone():
        for name in containers():
            if not hosts or name in map(_name, hosts):
                podman("rm", "--force", "--time=0", "--volumes", name)
        if not containers():
            close()


def _alone() -> AbstractContextManager[None]:
    """While podman's storage is taken down, nobody starts a host on it."""
    return exclusively(folder() / "lock", "starting or stopping GPU hosts")


def _name(host: str) -> str:
    return f"kubegang-{host}"


def _await_systemd(host: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            _exec(host, "systemctl", "is-system-running", "--wait")
            return
        except LabError:
            # Too early for an answer, or something failed to start.
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def _exec(host: str, *command: str) -> None:
    podman("exec", _name(host), *command, what=f"run {' '.join(command)} on {host}")


def _downloads(host: str) -> Path:
    """Packages that apt has fetched, for the next host of this name: apt locks the folder."""
    downloads = folder() / f"apt-{host}"
    downloads.mkdir(parents=True, exist_ok=True)
    return downloads
