# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host finds to install: the real toolkit, and doubles of the hardware and of what only hardware could carry."""

from __future__ import annotations

import platform
import re
import shutil
from pathlib import Path

from tests.lab.shell import run

from .containerd import containerd
from .deb import Package, Signer, write_repository
from .place import once
from .releases import Release
from .toolkit import VERSION, toolkit

_DOUBLE = Path(__file__).with_name("double")
_KERNEL = platform.release()
_NVML = "/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.{driver}"
# Newer than Debian's own of the same driver.
_REVISION = "99+double"


def shelf(release: Release) -> Path:
    """A folder with two signed repositories, `toolkit` and `driver`, their key, the hardware's package and its PCI devices; and
    with containerd's programs for a host that has upstream's."""
    sources = {file.name: file.read_text() for file in sorted(_DOUBLE.iterdir())}
    code = [Path(__file__).read_text(), (Path(__file__).with_name("deb.py")).read_text()]
    made = toolkit()
    runtime = containerd() if release.containerd else None
    recipe = [sources, code, _KERNEL, release, made, runtime]
    return once(f"shelf-{release.suite}", recipe, lambda folder: _fill(folder, release, made, runtime))


def _fill(folder: Path, release: Release, made: Path, runtime: Path | None) -> None:
    signer = Signer(folder / "gnupg")
    try:
        (folder / "key.asc").write_text(signer.public)
        write_repository(folder / "toolkit", _toolkit(made), signer)
        write_repository(folder / "driver", _driver(folder, release), signer)
    finally:
        signer.close()
        shutil.rmtree(folder / "gnupg")
    _hardware(folder, release, made).build(folder).rename(folder / "gpu-double.deb")
    shutil.copytree(_DOUBLE.parent / "double_pci", folder / "pci")
    if runtime:
        shutil.copytree(runtime, folder / "containerd")


def _toolkit(made: Path) -> list[Package]:
    """The four packages, with the dependencies and files of NVIDIA's. The library in C is not built: nothing here calls it."""
    version = f"{VERSION}-1"
    units = {
        f"/lib/systemd/system/{name}": made / "systemd" / name
        for name in ("nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service")
    }
    engines = "10-container-engines.conf"
    base_programs = ("nvidia-ctk", "nvidia-cdi-hook", "nvidia-container-runtime")
    return [
        Package("libnvidia-container1", version),
        Package("libnvidia-container-tools", version, {"Depends": f"libnvidia-container1 (>= {version})"}),
        Package(
            "nvidia-container-toolkit-base",
            version,
            files={
                **units,
                f"/lib/systemd/system/nvidia-cdi-refresh.service.d/{engines}": made / "systemd" / engines,
                "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env": made / "systemd/nvidia-cdi-refresh.env",
                "/lib/udev/rules.d/99-nvidia-cdi-refresh.rules": made / "udev/99-nvidia-cdi-refresh.rules",
            },
            programs={f"/usr/bin/{name}": made / name for name in base_programs},
            scripts={
                "postinst": "nvidia-ctk --quiet config --config-file=/etc/nvidia-container-runtime/config.toml --in-place\n"
            },
        ),
        Package(
            "nvidia-container-toolkit",
            version,
            {"Depends": f"nvidia-container-toolkit-base (= {version}), libnvidia-container-tools (= {version})"},
            programs={"/usr/bin/nvidia-container-runtime-hook": made / "nvidia-container-runtime-hook"},
        ),
    ]


def _driver(folder: Path, release: Release) -> list[Package]:
    """The kernel's half of the driver. Its module says which version it is and does nothing; Debian's own would take minutes to
    build for a kernel whose headers nobody has."""
    module = folder / "nvidia.ko"
    run(
        ["gcc", "-c", f'-DVERSION="{release.driver}"', "-o", module, _DOUBLE / "module.c"],
        what="build the kernel module's double",
    )
    modules = {f"/lib/modules/{_KERNEL}/updates/dkms/{name}.ko": module for name in ("nvidia", "nvidia-uvm")}
    return [
        Package(f"linux-headers-{_KERNEL}", f"1-{_REVISION}"),
        Package(
            "nvidia-kernel-dkms",
            f"{release.driver}-{_REVISION}",
            {"Provides": f"nvidia-kernel-{release.driver}"},
            files=modules,
            scripts={"postinst": f"depmod {_KERNEL}\n"},
        ),
    ]


def _hardware(folder: Path, release: Release, made: Path) -> Package:
    """What makes a host look as if it had GPUs. The NVML double lies where Debian's package would put the real library, which is
    diverted: a program that looks for NVML finds it in the usual way."""
    nvml = _NVML.format(driver=release.driver)
    library = folder / "libnvidia-ml.so.1"
    stubs = folder / "stubs.c"
    stubs.write_text(_stubs(made / "nvml.h"))
    flags = ["-O1", "-shared", "-fPIC", "-w", f'-DVERSION="{release.driver}"', "-Wl,-soname,libnvidia-ml.so.1"]
    run(["gcc", *flags, "-o", library, _DOUBLE / "nvml.c", stubs], what="build the NVML double")
    divert = f"dpkg-divert --package gpu-double --add --divert /usr/lib/gpu-double/libnvidia-ml.real --rename {nvml}\n"
    return Package(
        "gpu-double",
        "1",
        files={
            nvml: library,
            "/etc/modprobe.d/gpu-double.conf": _DOUBLE / "modprobe.conf",
            "/etc/systemd/system/nvidia-persistenced.service.d/gpu-double.conf": _DOUBLE / "persistenced.conf",
        },
        programs={"/usr/lib/gpu-double/load": _DOUBLE / "load"},
        scripts={"preinst": divert},
    )


def _stubs(header: Path) -> str:
    """Every public function of NVML that the double does not have says that it is not supported."""
    pattern = r"\b(nvml[A-Z]\w+) ?\("
    names = set(re.findall(pattern, header.read_text())) - set(re.findall(pattern, (_DOUBLE / "nvml.c").read_text()))
    aliases = [f'int {name}(void) __attribute__((alias("not_supported")));' for name in sorted(names)]
    return "\n".join(["int not_supported(void) { return 3; }", *aliases])
