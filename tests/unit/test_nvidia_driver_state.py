# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose driver it is, when a host is rebooted, what forbids an installation, and which packages are missing."""

from __future__ import annotations

import pytest
from ansible_collections.kubegang.core.plugins.filter.nvidia_driver_obstacles import nvidia_driver_obstacles
from ansible_collections.kubegang.core.plugins.filter.nvidia_driver_state import nvidia_driver_state
from ansible_collections.kubegang.core.plugins.filter.nvidia_missing_packages import nvidia_missing_packages
from ansible_collections.kubegang.core.plugins.filter.nvidia_newest_version import nvidia_newest_version

from tests.unit.gpu_hosts import BARE, DRIVER, HEALTHY, answer, gpu, look

OPEN_MODULE = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U16)"
NOT_LOADED = {"loaded": "", "proc_version": ""}
REFUSED = answer(1, stderr="modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n")


# A reboot is never a matter of packages that changed: each row is what the kernel shows, and what an attempt to load said.
@pytest.mark.parametrize(
    ("differences", "modprobe", "reasons"),
    [
        pytest.param({}, None, [], id="loaded is installed"),
        pytest.param({"nouveau": True, **NOT_LOADED}, None, ["nouveau is loaded and holds the GPUs"], id="nouveau"),
        pytest.param(
            {"loaded": "535.183.01"},
            None,
            [f"module 535.183.01 is loaded, {DRIVER} is installed"],
            id="old module loaded",
        ),
        pytest.param(NOT_LOADED, None, [], id="not loaded, not tried yet"),
        pytest.param(NOT_LOADED, {"skipped": True}, [], id="not loaded, attempt skipped"),
        pytest.param(NOT_LOADED, answer(0), [], id="loading worked"),
        pytest.param(
            NOT_LOADED,
            REFUSED,
            ["the module cannot be loaded: modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"],
            id="loading failed",
        ),
        pytest.param({"installed": "", **NOT_LOADED}, REFUSED, [], id="nothing installed: a reboot would not help"),
        pytest.param({}, REFUSED, [], id="loaded in spite of what an earlier attempt said"),
        pytest.param(
            {"nouveau": True, "loaded": "535.183.01"},
            None,
            ["nouveau is loaded and holds the GPUs", f"module 535.183.01 is loaded, {DRIVER} is installed"],
            id="both",
        ),
    ],
)
def test_reboot_is_decided_from_what_the_kernel_shows(differences, modprobe, reasons):
    assert nvidia_driver_state(look(**differences), modprobe)["reboot_reasons"] == reasons


@pytest.mark.parametrize(
    ("host", "source", "version"),
    [
        pytest.param(BARE, "none", "", id="bare host"),
        pytest.param(HEALTHY, "host", DRIVER, id="image"),
        pytest.param({**HEALTHY, "managed": True}, "kubegang", DRIVER, id="ours"),
        pytest.param({**BARE, "managed": True}, "kubegang", "", id="ours, interrupted"),
        pytest.param({**HEALTHY, "installed": "", "operator": True}, "operator", DRIVER, id="operator"),
        pytest.param({**HEALTHY, "dgx": "DGX_NAME=DGX Server"}, "dgx", DRIVER, id="DGX"),
        pytest.param({**BARE, "dgx": "DGX_NAME=DGX Server"}, "none", "", id="DGX without a driver"),
        pytest.param(
            {**HEALTHY, "programs": {**HEALTHY["programs"], "nvidia-uninstall": "/usr/bin/nvidia-uninstall"}},
            "runfile",
            DRIVER,
            id="installer",
        ),
        pytest.param({**BARE, "nvidia_smi": {"path": "/usr/bin/nvidia-smi"}}, "host", "", id="only its programs"),
        pytest.param(
            {**HEALTHY, "loaded": "", "proc_version": OPEN_MODULE}, "host", "570.86.15", id="version in proc only"
        ),
        pytest.param({**HEALTHY, **NOT_LOADED}, "host", DRIVER, id="installed, not loaded"),
    ],
)
def test_driver_is_known_by_who_brought_it(host, source, version):
    state = nvidia_driver_state(host)
    assert (state["driver_source"], state["driver_version"]) == (source, version)


def test_gpus_are_display_controllers_only():
    assert nvidia_driver_state(look())["gpus"] == ["0000:17:00.0", "0000:18:00.0"]


VOLTA, BLACKWELL, GRACE_HOPPER = ([gpu(device=device)] for device in ("0x1db6", "0x2901", "0x2342"))


@pytest.mark.parametrize(
    ("differences", "options", "says"),
    [
        pytest.param({"root": False}, {"modules": "open"}, "become: true", id="not root"),
        pytest.param({"pci": VOLTA}, {"modules": "open"}, "0000:17:00.0 is older than Turing", id="Volta, open"),
        pytest.param(
            {"pci": VOLTA},
            {"modules": "proprietary", "version": "590"},
            "580 is the last branch",
            id="Volta, new driver",
        ),
        pytest.param(
            {"pci": BLACKWELL}, {"modules": "proprietary"}, "works with open modules only", id="Blackwell, proprietary"
        ),
        pytest.param(
            {"pci": GRACE_HOPPER}, {"modules": "proprietary"}, "open modules only", id="Grace Hopper, proprietary"
        ),
        pytest.param({}, {"modules": "proprietary", "version": "620.10"}, "615 is the last", id="620, proprietary"),
        pytest.param({"secure_boot": True}, {"modules": "open"}, "Secure Boot is on", id="Secure Boot, no key"),
    ],
)
def test_obstacle_is_named_before_anything_is_touched(differences, options, says):
    assert [says in each for each in nvidia_driver_obstacles(look(BARE, **differences), **options)] == [True]


@pytest.mark.parametrize(
    ("differences", "options"),
    [
        pytest.param({}, {"modules": "open", "version": "620"}, id="Hopper, open"),
        pytest.param({}, {"modules": "proprietary", "version": "615.71.09"}, id="Hopper, proprietary"),
        pytest.param({"pci": VOLTA}, {"modules": "proprietary", "version": "580.126.20"}, id="Volta, proprietary"),
        pytest.param({"pci": BLACKWELL}, {"modules": "open"}, id="Blackwell, open"),
        pytest.param({"secure_boot": True}, {"modules": "open", "signed": True}, id="Secure Boot, signed modules"),
        pytest.param(
            {"secure_boot": True, "enrolled_key": "/var/lib/dkms/mok.pub"}, {"modules": "open"}, id="Secure Boot, key"
        ),
    ],
)
def test_no_obstacle_where_it_works(differences, options):
    assert nvidia_driver_obstacles(look(BARE, **differences), **options) == []


PACKAGES = {
    "nvidia-smi": [{"version": "535.309.01-1~deb12u1"}],
    "nvidia-driver-cuda": [{"version": "570.86.15", "release": "1.el9", "epoch": 3}],
    "nvidia-open-driver-G06-signed-cuda-kmp-default": [{"version": "580.126.20_k6.4.0_150600.21"}],
    "libcuda1": [{"version": "1:535.309.01-1"}],
}


@pytest.mark.parametrize(
    ("name", "version", "missing"),
    [
        ("nvidia-smi", "", False),
        ("nvidia-smi", "535", False),
        ("nvidia-smi", "535.309.01", False),
        ("nvidia-smi", "535.309.1", True),
        ("nvidia-smi", "53", True),
        ("nvidia-smi", "570", True),
        ("nvidia-driver-cuda", "570.86.15", False),
        ("nvidia-open-driver-G06-signed-cuda-kmp-default", "580.126.20", False),
        ("libcuda1", "535.309.01", False),
        ("libnvidia-ml1", "", True),
    ],
)
def test_package_is_missing_when_absent_or_of_another_version(name, version, missing):
    assert nvidia_missing_packages([name], PACKAGES, version) == [name] * missing


EDITIONS = ["580.95.05_k6.4.0_150600.21-1.1", "580.126.20_k6.4.0_150600.21-1.1", "590.48.01_k6.4.0_150600.21-1.1"]


@pytest.mark.parametrize(
    ("version", "newest"),
    [("", EDITIONS[2]), ("580", EDITIONS[1]), ("580.95.05", EDITIONS[0]), ("570", "")],
)
def test_newest_version_is_taken_by_number(version, newest):
    assert nvidia_newest_version(EDITIONS, version) == newest
