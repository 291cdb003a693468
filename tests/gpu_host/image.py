# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Debian with systemd as an image: what a fresh installation has, and Python for Ansible."""

from __future__ import annotations

import time
from pathlib import Path

from tests.lab.progress import say
from tests.lab.shell import run

from .place import key, once
from .podman import has_image, podman
from .releases import Release

_MIRROR = "http://deb.debian.org/debian"
_SECURITY = "http://deb.debian.org/debian-security"
_PACKAGES = "systemd,systemd-sysv,dbus,python3,python3-apt,ca-certificates,iproute2,procps,kmod"
# Without non-free, as Debian's installer leaves a server.
_SOURCES = """\
Types: deb
URIs: {mirror}
Suites: {suite} {suite}-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: {security}
Suites: {suite}-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


def image(release: Release) -> str:
    """The name of the release's image, which is made when it is not there yet."""
    recipe = [release.suite, _PACKAGES, _SOURCES]
    name = f"localhost/kubegang-gpu-host:{release.suite}-{key(recipe)}"
    if not has_image(name):
        root = once(f"root-{release.suite}", recipe, lambda folder: _bootstrap(release, folder)) / "root.tar"
        changes = ['CMD ["/sbin/init"]', "STOPSIGNAL SIGRTMIN+3"]
        podman("import", *(f"--change={each}" for each in changes), root, name, what=f"import {root}")
    return name


def _bootstrap(release: Release, folder: Path) -> None:
    say(f"installing Debian {release.suite} into a folder …")
    started = time.monotonic()
    root = folder / "root"
    run(["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", release.suite, root, _MIRROR])
    (root / "etc/apt/sources.list").unlink()
    sources = _SOURCES.format(mirror=_MIRROR, security=_SECURITY, suite=release.suite)
    (root / "etc/apt/sources.list.d/debian.sources").write_text(sources)
    # Podman makes the devices.
    left_out = ["./dev/*", "./var/cache/apt/archives/*.deb", "./var/lib/apt/lists/*"]
    run(["tar", "-C", root, *(f"--exclude={each}" for each in left_out), "-cf", folder / "root.tar", "."])
    run(["rm", "-r", "--one-file-system", root])
    say(f"installed Debian {release.suite} in {time.monotonic() - started:.0f} s")
