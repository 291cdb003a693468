# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host of Docker, as the real daemon shows it, and what its containers get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

testinfra_hosts = ["podman://kubegang-docker"]

BEFORE = json.loads((Path(__file__).parents[1] / "files/daemon.json").read_text())


@pytest.fixture(scope="module")
def after(host):
    return json.loads(host.file("/etc/docker/daemon.json").content_string)


@pytest.fixture(scope="module")
def box(host):
    """An image with nothing but busybox."""
    host.check_output("mkdir -p /srv/box/bin && cp /bin/busybox /srv/box/bin/ && ln -sf busybox /srv/box/bin/ls")
    host.check_output("tar -C /srv/box -c . | docker import - box")
    return "box"


def gpus(host, box, *options):
    """The GPU device nodes in a container that is started with these options."""
    # The host is a container itself, whose cgroups do not lie where an older Docker looks for them.
    run = "docker run --rm --network none --cgroupns private"
    nodes = host.check_output(f"{run} {' '.join(options)} {box} ls /dev").split()
    return [node for node in nodes if node.removeprefix("nvidia").isdigit()]


def test_what_the_administrator_set_is_still_set(after):
    assert {key: after[key] for key in BEFORE if key not in ("features", "runtimes")} == {
        key: value for key, value in BEFORE.items() if key not in ("features", "runtimes")
    }
    assert {name: after["runtimes"][name] for name in BEFORE["runtimes"]} == BEFORE["runtimes"]


def test_nothing_but_the_runtime_and_cdi_was_added(after):
    assert after["runtimes"].keys() - BEFORE["runtimes"].keys() == {"nvidia"}
    assert after["features"] == {**BEFORE["features"], "cdi": True}
    assert after.keys() == BEFORE.keys()


def test_docker_knows_the_nvidia_runtime_and_keeps_its_default(host):
    info = json.loads(host.check_output("docker info --format '{{json .}}'"))
    assert info["Runtimes"]["nvidia"]["path"] == "nvidia-container-runtime"
    assert info["DefaultRuntime"] == "runc"


@pytest.mark.parametrize("number", [0, 1])
def test_container_gets_just_the_gpu_that_its_cdi_name_says(host, box, number):
    assert gpus(host, box, "--device", f"nvidia.com/gpu={number}") == [f"nvidia{number}"]


@pytest.mark.parametrize("number", [0, 1])
def test_container_of_the_nvidia_runtime_gets_just_its_gpu(host, box, number):
    options = ["--runtime", "nvidia", "--env", f"NVIDIA_VISIBLE_DEVICES={number}"]
    assert gpus(host, box, *options) == [f"nvidia{number}"]


def test_container_of_another_runtime_gets_no_gpu(host, box):
    assert gpus(host, box, "--env", "NVIDIA_VISIBLE_DEVICES=all") == []
