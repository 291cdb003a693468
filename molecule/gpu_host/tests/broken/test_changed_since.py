# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What somebody changed on a host since the last run is taken over, or brought back, by the next one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import testinfra

from tests.support.playbooks import Ansible, PlaybookRun

testinfra_hosts = ["podman://kubegang-debian12", "podman://kubegang-debian13"]

SCENARIO = Path(__file__).parents[2]
CONFIG = "/etc/containerd/config.toml"
# The plugin's table stands in Debian's file already. In a file of version 3 the plugin has another name.
CRI = {"debian12": "io.containerd.grpc.v1.cri", "debian13": "io.containerd.cri.v1.runtime"}
EDITS = {
    "debian12": f"""sed -i '/plugins."{CRI["debian12"]}"]/a max_container_log_line_size = 32768' {CONFIG}""",
    "debian13": f"""printf '[plugins."{CRI["debian13"]}"]\\nmax_container_log_line_size = 32768\\n' >> {CONFIG}""",
}
FORBIDDEN = "/etc/modprobe.d/kubegang-nvidia-driver.conf"
PIN = "/etc/apt/preferences.d/kubegang-nvidia-driver"


@pytest.fixture(scope="module")
def ansible(tmp_path_factory) -> Iterator[Ansible]:
    with Ansible(tmp_path_factory.mktemp("ansible"), {}, SCENARIO / "inventory.yml") as ansible:
        yield ansible


def provide(ansible: Ansible, role: str, name: str) -> PlaybookRun:
    return ansible.playbook(SCENARIO / "provide_role.yml", extra_vars={"role": role, "where": name}).checked()


def changed(run: PlaybookRun) -> set[str]:
    return {result.task.partition(" : ")[2] for result in run.changed}


def starts(host) -> int:
    journal = host.check_output("journalctl --unit=containerd --identifier=systemd --output=cat")
    return sum(line.startswith("Started ") for line in journal.splitlines())


def test_key_that_the_user_adds_to_containerd_s_file_is_in_force_after_the_next_run(host, ansible):
    name = host.check_output("hostname")
    before = starts(host)
    host.check_output("sh -ec %s", EDITS[name])
    first = provide(ansible, "nvidia_container_toolkit", name)
    assert changed(first) == {"Have the runtime read it", "Provide the drop-in file", "Restart the container runtime"}
    assert starts(host) - before == 1
    dump = tomllib.loads(host.check_output("containerd config dump"))
    assert dump["plugins"][CRI[name]]["max_container_log_line_size"] == 32768
    assert changed(provide(ansible, "nvidia_container_toolkit", name)) == set()
    assert starts(host) - before == 1


def test_holds_and_blacklist_that_somebody_took_away_are_brought_back(ansible):
    host = testinfra.get_host("podman://kubegang-debian12")
    host.check_output("sh -ec %s", f"apt-mark unhold libcuda1; rm {PIN}; echo '# edited' >> {FORBIDDEN}")
    assert changed(provide(ansible, "nvidia_driver", "debian12")) == {
        "Forbid nouveau",
        "Prefer the wanted version",
        "Hold the packages, or let them go",
        "Rebuild the initramfs",
    }
    assert "libcuda1" in host.check_output("apt-mark showhold").split()
    assert "# edited" not in host.file(FORBIDDEN).content_string
    image = host.file(f"/boot/initrd.img-{host.check_output('uname -r')}")
    assert image.mtime >= host.file(FORBIDDEN).mtime
    assert changed(provide(ansible, "nvidia_driver", "debian12")) == set()
