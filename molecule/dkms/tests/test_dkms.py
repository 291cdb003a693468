# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that DKMS built and the initramfs, as Debian's own programs see them."""

from __future__ import annotations

import pytest

testinfra_hosts = ["podman://kubegang-dkms"]

DRIVER = "535.309.01"


@pytest.fixture(scope="module")
def kernel(host):
    """The release of Debian's kernel. A folder of no other one may be there, so that nothing was built for another."""
    (release,) = host.file("/lib/modules").listdir()
    assert release.endswith("-amd64")
    return release


def test_dkms_has_installed_the_driver_for_the_kernel(host, kernel):
    assert host.check_output("dkms status") == f"nvidia-current/{DRIVER}, {kernel}, x86_64: installed"


@pytest.mark.parametrize("suffix", ["", "-modeset", "-drm", "-uvm", "-peermem"])
def test_module_is_of_the_driver_and_for_the_kernel(host, kernel, suffix):
    fields = [
        host.check_output(f"modinfo --set-version {kernel} --field {field} nvidia-current{suffix}")
        for field in ("version", "vermagic")
    ]
    assert fields[0] == DRIVER
    assert fields[1].split()[0] == kernel


def test_modprobe_would_load_the_built_module(host, kernel):
    assert f"/lib/modules/{kernel}/updates/dkms/nvidia-current.ko" in host.check_output(
        f"modprobe --set-version {kernel} --show-depends nvidia-current"
    )


def test_headers_are_those_of_the_kernel(host, kernel):
    assert host.package(f"linux-headers-{kernel}").is_installed


def test_nouveau_is_forbidden_in_the_initramfs_too(host, kernel):
    host.check_output(f"rm -rf /srv/initramfs && unmkinitramfs /boot/initrd.img-{kernel} /srv/initramfs")
    (file,) = host.check_output("find /srv/initramfs -path '*/modprobe.d/kubegang-nvidia-driver.conf'").splitlines()
    assert "blacklist nouveau" in host.file(file).content_string.splitlines()
