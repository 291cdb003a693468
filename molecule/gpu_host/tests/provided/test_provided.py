# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A provided GPU host as its own programs show it, and what containers on it get."""

from __future__ import annotations

import tomllib

import pytest

from tests.support.molecule_runs import changes_by_run

testinfra_hosts = ["podman://kubegang-debian12", "podman://kubegang-debian13"]

DRIVERS = {"debian12": "535.309.01", "debian13": "550.163.01"}
# containerd of Debian and of upstream, and what each calls its plugin for Kubernetes.
CRI = {"debian12": "io.containerd.grpc.v1.cri", "debian13": "io.containerd.cri.v1.runtime"}
DROP_IN = "/etc/containerd/conf.d/99-nvidia.toml"
TOOLKIT = [
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
]
NVIDIA = "/usr/bin/nvidia-container-runtime"
UUIDS = [f"GPU-d0b1e000-0000-4000-8000-00000000000{number}" for number in range(2)]
# What check mode cannot know before a driver and its packages are there, and what a real run says only then.
UNKNOWN_TO_CHECK_MODE = {
    "kubegang.core.nvidia_driver : Install the driver",
    "kubegang.core.nvidia_driver : Hold the packages, or let them go",
    "kubegang.core.nvidia_driver : Keep unattended upgrades from the driver",
    "kubegang.core.nvidia_driver : Load NVIDIA's module",
    "kubegang.core.nvidia_driver : Load the module for unified memory",
    "kubegang.core.nvidia_container_toolkit : Bring a specification up to date that is not",
}
STANDS_FOR_THEM = {"kubegang.core.nvidia_driver : Say what would be installed"}


@pytest.fixture(scope="module")
def name(host):
    return host.check_output("hostname")


@pytest.fixture(scope="module")
def runs(name):
    return changes_by_run(name)


@pytest.fixture(scope="module")
def configuration(host):
    """As containerd has it in force."""
    return tomllib.loads(host.check_output("containerd config dump"))


@pytest.fixture(scope="module")
def cri(configuration, name):
    return configuration["plugins"][CRI[name]]


@pytest.fixture(scope="module")
def box(host):
    """A root filesystem with nothing but busybox."""
    host.check_output("mkdir -p /srv/box/bin /srv/box/dev /srv/box/proc /srv/box/sys /srv/box/etc /srv/box/tmp")
    host.check_output(
        "cp /bin/busybox /srv/box/bin/ && ln -sf busybox /srv/box/bin/sh && ln -sf busybox /srv/box/bin/ls"
    )
    return "/srv/box"


def gpus(host, box, *options):
    """The GPU device nodes in a container that is started with these options."""
    command = f"ctr run --rm --rootfs {' '.join(options)} {box} probe /bin/sh -c 'ls /dev'"
    return [node for node in host.check_output(command).split() if node.removeprefix("nvidia").isdigit()]


def test_check_mode_on_the_bare_host_predicted_what_the_run_did(runs):
    predicted, done = runs[:2]
    assert predicted - STANDS_FOR_THEM == done - UNKNOWN_TO_CHECK_MODE
    assert predicted >= STANDS_FOR_THEM


def test_a_second_run_changed_nothing(runs):
    assert runs[2] == set()


@pytest.mark.parametrize(
    "package", ["nvidia-kernel-dkms", "nvidia-smi", "libnvidia-ml1", "libcuda1", "firmware-nvidia-gsp"]
)
def test_driver_is_of_one_version_and_held(host, name, package):
    assert host.package(package).version.startswith(DRIVERS[name])
    assert package in host.check_output("apt-mark showhold").split()


@pytest.mark.parametrize("package", TOOLKIT)
def test_toolkit_is_of_one_version_and_held(host, package):
    assert host.package(package).version == "1.20.2-1"
    assert package in host.check_output("apt-mark showhold").split()


def test_both_gpus_answer(host):
    assert [line.split("UUID: ")[1].rstrip(")") for line in host.check_output("nvidia-smi -L").splitlines()] == UUIDS


@pytest.mark.parametrize("service", ["nvidia-persistenced", "containerd"])
def test_service_runs_now_and_after_a_restart(host, service):
    assert host.service(service).is_running
    assert host.service(service).is_enabled


def test_nouveau_is_forbidden(host):
    assert "blacklist nouveau" in host.check_output("modprobe --showconfig").splitlines()


def test_nouveau_is_forbidden_before_the_disk_is_read_too(host, name):
    images = host.check_output("ls /boot").split()
    # Debian 13 has no initramfs here.
    assert any(image.startswith("initrd") for image in images) is (name == "debian12")
    for image in images:
        if image.startswith("initrd"):
            listed = host.check_output(f"lsinitramfs /boot/{image}").splitlines()
            assert "etc/modprobe.d/kubegang-nvidia-driver.conf" in listed


def test_the_file_of_debian_s_containerd_lost_no_line(host, name):
    lines = host.file("/etc/containerd/config.toml").content_string.splitlines()
    kept = {
        "debian12": [
            "version = 2",
            'bin_dir = "/usr/lib/cni"',
            'conf_dir = "/etc/cni/net.d"',
            'path = "/var/lib/containerd/opt"',
        ],
        "debian13": ["# Ours, and it stays ours.", "version = 3", "imports = ['/etc/containerd/conf.d/*.toml']"],
    }
    assert [line.strip() for line in lines if line.strip() in kept[name]] == kept[name]
    assert lines[0] == kept[name][0]


@pytest.mark.parametrize("file", ["/etc/containerd/config.toml", DROP_IN])
def test_each_file_of_containerd_is_of_the_version_that_the_user_s_file_had(host, name, file):
    version = tomllib.loads(host.file(file).content_string)["version"]
    assert version == {"debian12": 2, "debian13": 3}[name]


def test_drop_in_names_the_plugin_as_its_version_does(host, name):
    plugins = tomllib.loads(host.file(DROP_IN).content_string)["plugins"]
    assert plugins[CRI[name]]["containerd"]["runtimes"]["nvidia"]["runtime_type"] == "io.containerd.runc.v2"


def test_containerd_knows_the_nvidia_runtime_with_the_cgroups_of_runc(cri):
    runtimes = cri["containerd"]["runtimes"]
    assert runtimes["nvidia"]["runtime_type"] == "io.containerd.runc.v2"
    assert runtimes["nvidia"]["options"]["BinaryName"] == NVIDIA
    assert runtimes["nvidia"]["options"]["SystemdCgroup"] is runtimes["runc"]["options"]["SystemdCgroup"] is True


def test_containerd_prints_its_configuration_in_a_version_of_its_own(configuration, name):
    assert configuration["version"] == {"debian12": 2, "debian13": 4}[name]


def test_runc_stays_the_default(cri):
    assert cri["containerd"]["default_runtime_name"] == "runc"


def test_containerd_was_started_after_its_configuration_was_written(host):
    started = host.check_output(
        'date --date="$(systemctl show --property=ActiveEnterTimestamp --value containerd)" +%s'
    )
    assert int(started) >= host.file(DROP_IN).mtime.timestamp() - 1


def test_containerd_was_restarted_once_in_two_runs(host):
    journal = host.check_output("journalctl --unit=containerd --identifier=systemd --output=cat")
    assert sum(line.startswith("Started ") for line in journal.splitlines()) == 2


def test_every_gpu_has_a_cdi_name(host):
    names = {"all", "0", "1", *UUIDS}
    assert set(host.check_output("nvidia-ctk --quiet cdi list").split()) == {f"nvidia.com/gpu={name}" for name in names}


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", [str, UUIDS.__getitem__])
def test_container_of_the_nvidia_runtime_gets_just_its_gpu(host, box, name, number):
    options = ["--runc-binary", NVIDIA, "--env", f"NVIDIA_VISIBLE_DEVICES={name(number)}"]
    assert gpus(host, box, *options) == [f"nvidia{number}"]


def test_container_of_the_nvidia_runtime_gets_the_driver_s_programs(host, box):
    run = f"ctr run --rm --rootfs --runc-binary {NVIDIA} --env NVIDIA_VISIBLE_DEVICES=0 {box} probe /bin/sh -c 'ls /usr/bin'"
    assert "nvidia-smi" in host.check_output(run).split()


def test_container_of_another_runtime_gets_no_gpu(host, box):
    assert gpus(host, box, "--env", "NVIDIA_VISIBLE_DEVICES=all") == []


def test_apt_takes_no_package_from_a_repository_that_its_key_did_not_sign(host):
    host.check_output("rm -rf /srv/forged && cp -r /srv/gpu-host/toolkit /srv/forged && echo >> /srv/forged/Packages")
    source = "deb [signed-by=/etc/apt/keyrings/nvidia-container-toolkit.asc] file:/srv/forged /"
    options = "-o Dir::Etc::sourcelist=/srv/forged/list -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0"
    said = host.run(f"echo '{source}' > /srv/forged/list && apt-get update {options}")
    assert said.rc != 0
    assert "Hash Sum mismatch" in said.stderr
