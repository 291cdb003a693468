# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The distributions that hosts are made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """A Debian release, and the version of NVIDIA's driver that it carries in non-free."""

    suite: str
    driver: str
    # Whether it gets upstream's containerd instead of Debian's.
    containerd: bool = False


_BOOKWORM = Release("bookworm", "535.309.01")
# Host → what it is made of. Scenarios that run side by side have hosts of their own.
RELEASES = {
    "debian12": _BOOKWORM,
    "debian13": Release("trixie", "550.163.01", containerd=True),
    # For other ways to run containers.
    "rke2": _BOOKWORM,
    "docker": Release("trixie", "550.163.01"),
    "crio": _BOOKWORM,
    # For the package managers of other distributions.
    "rpm": _BOOKWORM,
    # For the playbooks.
    "site": _BOOKWORM,
    # For a kernel of Debian's.
    "dkms": _BOOKWORM,
}
