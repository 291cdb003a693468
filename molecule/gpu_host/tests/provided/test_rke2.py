# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose containerd belongs to RKE2: it is restarted once, and nothing is written beside its configuration."""

from __future__ import annotations

import tomllib

import pytest

testinfra_hosts = ["podman://kubegang-rke2"]

FOLDER = "/var/lib/rancher/rke2/agent/etc/containerd"


def test_rke2_has_written_the_nvidia_runtime_into_its_own_file(host):
    configuration = tomllib.loads(host.file(f"{FOLDER}/config.toml").content_string)
    runtime = configuration["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"]["nvidia"]
    assert runtime["options"]["BinaryName"] == "/usr/bin/nvidia-container-runtime"


def test_rke2_was_restarted_once_in_two_runs(host):
    assert host.file("/var/lib/rancher/rke2/starts").content_string == "started\nstarted\n"


@pytest.mark.parametrize("path", ["/etc/containerd", f"{FOLDER}/config.toml.tmpl", f"{FOLDER}/config-v3.toml.tmpl"])
def test_nothing_was_written_that_rke2_would_have_to_share(host, path):
    assert not host.file(path).exists


def test_there_is_no_containerd_service(host):
    assert not host.service("containerd").exists
