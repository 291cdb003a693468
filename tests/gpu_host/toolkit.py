# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's Container Toolkit, built from its Go module."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.lab.versions import go_version

from .modules import Module
from .place import once

VERSION = "1.20.2"
_MODULE = "github.com/NVIDIA/nvidia-container-toolkit"
PROGRAMS = ("nvidia-ctk", "nvidia-cdi-hook", "nvidia-container-runtime", "nvidia-container-runtime-hook")
# The module's library for NVML looks functions up when they are called: they are not there when it is linked.
_FLAGS = ["-trimpath", "-ldflags", f"-s -w -X {_MODULE}/internal/info.version={VERSION} -extldflags=-Wl,-z,lazy"]


def toolkit() -> Path:
    """A folder with the programs, with the module's `deployments`, and with the header of NVML that it was built against."""
    return once(f"toolkit-{VERSION}", [go_version(), VERSION, PROGRAMS, _FLAGS], _build)


def _build(folder: Path) -> None:
    module = Module(_MODULE, VERSION, cgo=True)
    module.build(folder, PROGRAMS, _FLAGS)
    shutil.copyfile(module.dependency("github.com/NVIDIA/go-nvml") / "pkg/nvml/nvml.h", folder / "nvml.h")
    for part in ("systemd", "udev"):
        (folder / part).mkdir()
        for file in (module.source / "deployments" / part).iterdir():
            shutil.copyfile(file, folder / part / file.name)
