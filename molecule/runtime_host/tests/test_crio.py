# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drop-in file for CRI-O, beside the administrator's own file."""

from __future__ import annotations

import tomllib
from pathlib import Path

testinfra_hosts = ["podman://kubegang-crio"]

BEFORE = (Path(__file__).parents[1] / "files/crio.conf").read_text()


def test_the_file_of_the_administrator_is_as_it_was(host):
    assert host.file("/etc/crio/crio.conf").content_string == BEFORE


def test_the_drop_in_file_brings_the_nvidia_runtime_and_makes_it_the_default(host):
    runtime = tomllib.loads(host.file("/etc/crio/crio.conf.d/99-nvidia.toml").content_string)["crio"]["runtime"]
    assert runtime["runtimes"]["nvidia"]["runtime_path"] == "/usr/bin/nvidia-container-runtime"
    assert runtime["default_runtime"] == "nvidia"


def test_the_nvidia_runtime_takes_over_what_the_other_runtime_has(host):
    runtime = tomllib.loads(host.file("/etc/crio/crio.conf.d/99-nvidia.toml").content_string)["crio"]["runtime"]
    assert runtime["runtimes"]["nvidia"]["monitor_path"] == "/usr/bin/conmon"
