# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Podman with a storage and settings of its own, so that the machine's other containers are not touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.lab.shell import run, succeeds

from .place import RUN, folder

# runc, because crun wants cgroups of one version only. The limits that podman sets by default need what a root in a container
# or a small virtual machine does not have.
_CONTAINERS = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{run}/libpod"

[containers]
pids_limit = 0
log_driver = "none"
"""
_STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{cache}/storage"
runroot = "{run}/storage"
"""


def environment() -> dict[str, str]:
    """What podman has to be told to see the hosts."""
    files = {"CONTAINERS_CONF": ("containers.conf", _CONTAINERS), "CONTAINERS_STORAGE_CONF": ("storage.conf", _STORAGE)}
    return {key: str(_written(name, text)) for key, (name, text) in files.items()}


def podman(*args: str | Path, what: str | None = None) -> str:
    return run(["podman", *args], env={**os.environ, **environment()}, what=what)


def containers() -> list[str]:
    return [name for each in json.loads(podman("ps", "--all", "--format=json")) for name in each["Names"]]


def has_image(name: str) -> bool:
    return name in [tag for each in json.loads(podman("images", "--format=json")) for tag in each.get("Names") or []]


def close() -> None:
    """Take down what podman leaves mounted and written once no container is left."""
    succeeds(["umount", folder() / "storage" / "overlay"])
    succeeds(["rm", "--recursive", "--force", "--one-file-system", RUN])


def _written(name: str, text: str) -> Path:
    file = folder() / name
    wanted = text.format(cache=folder(), run=RUN)
    if not file.exists() or file.read_text() != wanted:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(wanted)
    return file
