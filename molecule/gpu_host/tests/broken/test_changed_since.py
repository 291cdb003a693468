# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What somebody changed on a host since the last run is taken over, or brought back, by the next one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import testinfra
from testinfra.host import Host

from tests.support.playbooks import Ansible, PlaybookRun

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


def provide(ansible: Ansible, role: str, where: str) -> PlaybookRun:
    return ansible.playbook(SCENARIO / "provide_role.yml", extra_vars={"role": role, "where": where}).checked()


def changed(run: PlaybookRun) -> dict[str, set[str]]:
    """The tasks that changed something, for each host on which something changed."""
    tasks: dict[str, set[str]] = {}
    for result in run.changed:
        tasks.setdefault(result.host, set()).add(result.task.partition(" : ")[2])
    return tasks


def on(name: str) -> Host:
    return testinfra.get_host(f"podman://kubegang-{name}")


def starts() -> list[int]:
    """How often containerd was started on each host."""
    command = "journalctl --unit=containerd --identifier=systemd --output=cat"
    return [sum(line.startswith("Started ") for line in on(name).check_output(command).splitlines()) for name in CRI]


def test_key_that_the_user_adds_to_containerd_s_file_is_in_force_after_the_next_run(ansible):
    before = starts()
    for name, edit in EDITS.items():
        on(name).check_output("sh -ec %s", edit)
    first = provide(ansible, "nvidia_container_toolkit", ",".join(CRI))
    tasks = {"Have the runtime read it", "Provide the drop-in file", "Restart the container runtime"}
    assert changed(first) == dict.fromkeys(CRI, tasks)
    assert starts() == [number + 1 for number in before]
    for name, plugin in CRI.items():
        dump = tomllib.loads(on(name).check_output("containerd config dump"))
        assert dump["plugins"][plugin]["max_container_log_line_size"] == 32768
    assert changed(provide(ansible, "nvidia_container_toolkit", ",".join(CRI))) == {}
    assert starts() == [number + 1 for number in before]


def test_holds_and_blacklist_that_somebody_took_away_are_brought_back(ansible):
    host = on("debian12")
    host.check_output("sh -ec %s", f"apt-mark unhold libcuda1; rm {PIN}; echo '# edited' >> {FORBIDDEN}")
    assert changed(provide(ansible, "nvidia_driver", "debian12")) == {
        "debian12": {
            "Forbid nouveau",
            "Prefer the wanted version",
            "Hold the packages, or let them go",
            "Rebuild the initramfs",
        }
    }
    assert "libcuda1" in host.check_output("apt-mark showhold").split()
    assert "# edited" not in host.file(FORBIDDEN).content_string
    image = host.file(f"/boot/initrd.img-{host.check_output('uname -r')}")
    assert image.mtime >= host.file(FORBIDDEN).mtime
    assert changed(provide(ansible, "nvidia_driver", "debian12")) == {}
