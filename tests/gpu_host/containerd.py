# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""containerd 2, built from its Go module: Debian's own are of version 1."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.lab.versions import go_version

from .modules import Module
from .place import once

# It prints its configuration in version 4 of the format, whatever the file has.
VERSION = "2.3.7"
_MODULE = "github.com/containerd/containerd/v2"
PROGRAMS = ("containerd", "containerd-shim-runc-v2", "ctr")
_FLAGS = [
    "-trimpath",
    *("-tags", "no_devmapper no_zfs no_tracing urfave_cli_no_docs"),
    *("-ldflags", f"-s -w -X {_MODULE}/version.Version={VERSION}"),
]


def containerd() -> Path:
    """A folder with the programs, as upstream's archive has them, and with upstream's unit."""
    return once(f"containerd-{VERSION}", [go_version(), VERSION, PROGRAMS, _FLAGS], _build)


def _build(folder: Path) -> None:
    module = Module(_MODULE, VERSION)
    module.build(folder, PROGRAMS, _FLAGS)
    shutil.copyfile(module.source / "containerd.service", folder / "containerd.service")
