# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: nvidia_container_toolkit_findings
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Judge a host's NVIDIA Container Toolkit
description:
  - Compares what was seen on a host with what should be there, and names everything that differs.
  - Role P(kubegang.core.nvidia_container_toolkit#role) does the looking.
positional: _input, wanted
options:
  _input:
    description: What was seen; C(__nvidia_container_toolkit_look) of the role says what is in it.
    type: dict
    required: true
  wanted:
    description: What should be there; C(__nvidia_container_toolkit_wanted) of the role says what is in it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Say what is wrong
  ansible.builtin.debug:
    msg: "{{ look | kubegang.core.nvidia_container_toolkit_findings(wanted) | map(attribute='found') | join('; ') }}"
"""

RETURN = r"""
_value:
  description:
    - One entry for everything that is wrong, with C(id), C(severity), C(expected), C(found) and C(remedy).
    - Empty when all is well.
  type: list
  elements: dict
"""

import json
import re
from collections.abc import Iterator

from ansible_collections.kubegang.core.plugins.plugin_utils._gpu_host import finding

BINARY = "/usr/bin/nvidia-container-runtime"
# Docker looks for the program in its path.
DOCKER_BINARY = "nvidia-container-runtime"
_UNIT = "nvidia-cdi-refresh"
_KEY = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^.\s]+)")


def nvidia_container_toolkit_findings(look: dict, wanted: dict) -> list[dict]:
    """Everything on the host that is not as wanted."""
    checks = [_packages, _service, _restart, *([_cdi_unit, _cdi_specification] if wanted["cdi"] else [])]
    checks += [_docker] if wanted["runtime"] == "docker" else [_runtime, _drop_in]
    return [each for check in checks for each in check(look, wanted)]


def _packages(look: dict, wanted: dict) -> Iterator[dict]:
    for package in wanted["packages"]:
        installed = look["packages"].get(package) or []
        version = installed[0]["version"] if installed else "none"
        if re.sub(r"-\d+$", "", version) != wanted["version"]:
            remedy = "run the role nvidia_container_toolkit"
            yield finding("package-version", f"{package} {wanted['version']}", version, remedy)


def _service(look: dict, wanted: dict) -> Iterator[dict]:
    state = _state(look, wanted["service"], "ActiveState")
    if state != "active":
        yield finding("runtime-service", f"{wanted['service']} active", state, f"see journalctl -u {wanted['service']}")


def _state(look: dict, unit: str, name: str) -> str:
    """A property of a unit, out of what systemctl show says of it."""
    properties = dict(line.split("=", 1) for line in look["services"].get(unit, "").splitlines() if "=" in line)
    return properties.get(name, "") if properties.get("LoadState") == "loaded" else "absent"


def _restart(look: dict, wanted: dict) -> Iterator[dict]:
    """A user who restarts the runtime at another time knows that it has to be done."""
    if look["unread"]:
        expected = f"{wanted['service']} started after its configuration was written"
        severity = "error" if wanted["restart"] else "warning"
        yield finding(
            "runtime-restart",
            expected,
            f"younger: {', '.join(look['unread'])}",
            f"restart {wanted['service']}",
            severity,
        )


def _runtime(look: dict, wanted: dict) -> Iterator[dict]:
    runtimes, default = _containerd(look) if wanted["runtime"] == "containerd" else _crio(look)
    if "nvidia" not in runtimes:
        yield _missing(look, wanted)
        return
    # A file of k3s or RKE2 need not say what runc has; what nvidia has is then up to them too.
    nvidia, runc = runtimes["nvidia"], runtimes.get("runc", runtimes["nvidia"])
    # k3s and RKE2 also look where the GPU operator puts the toolkit.
    if nvidia["binary"] != BINARY and not (
        wanted["managed"] and nvidia["binary"].endswith("/nvidia-container-runtime")
    ):
        yield finding(
            "runtime-binary",
            BINARY,
            nvidia["binary"] or "none",
            f"look for another nvidia runtime in {wanted['config_file']}",
        )
    if nvidia.get("systemd") != runc.get("systemd"):
        remedy = "run the role nvidia_container_toolkit, which takes over what runc has"
        yield finding(
            "runtime-cgroups",
            f"SystemdCgroup = {runc.get('systemd')} as runc has it",
            str(nvidia.get("systemd")),
            remedy,
        )
    if wanted["default_runtime"] and default != "nvidia":
        yield finding(
            "runtime-default",
            "nvidia is the default runtime",
            default or "none",
            "run the role nvidia_container_toolkit",
        )


def _drop_in(look: dict, wanted: dict) -> Iterator[dict]:
    """containerd before 2.1 takes the plugin's table from the drop-in file as a whole, a copy of the user's own in it."""
    if look["shadowing"]:
        expected = f"a drop-in file that holds what {wanted['config_file']} has"
        found = f"another {wanted['drop_in']} than the toolkit would write now"
        yield finding("runtime-drop-in", expected, found, "run the role nvidia_container_toolkit")


def _missing(look: dict, wanted: dict) -> dict:
    """An nvidia runtime that nobody uses: never configured, or configured in a file that nobody reads."""
    expected = f"a runtime nvidia in {wanted['service']}'s configuration"
    if wanted["managed"]:
        remedy = (
            f"restart {wanted['service']}; a template of yours beside {wanted['config_file']} needs the runtime too"
        )
        return finding("runtime-entry", expected, "none", remedy)
    if look["drop_in"]:
        remedy = f"import it in {wanted['config_file']}"
        return finding("runtime-import", expected, f"one in {wanted['drop_in']}, which is not read", remedy)
    return finding("runtime-entry", expected, "none", "run the role nvidia_container_toolkit")


def _containerd(look: dict) -> tuple[dict, str]:
    """The runtimes in a configuration as containerd prints it, and the default one."""
    runtimes: dict[str, dict] = {}
    default = ""
    for path, values in _tables(look["configuration"]).items():
        if path[-1:] == ("containerd",):
            default = values.get("default_runtime_name", default)
        elif path[-2:-1] == ("runtimes",):
            runtimes.setdefault(path[-1], {"binary": "", "systemd": False})
        elif path[-1:] == ("options",) and path[-3:-2] == ("runtimes",):
            runtime = {
                "binary": values.get("BinaryName", ""),
                "systemd": values.get("SystemdCgroup", "false") == "true",
            }
            runtimes[path[-2]] = runtime
    return runtimes, default


def _crio(look: dict) -> tuple[dict, str]:
    tables = _tables(look["configuration"])
    runtimes = {
        path[-1]: {"binary": values.get("runtime_path", "")}
        for path, values in tables.items()
        if path[-2:-1] == ("runtimes",)
    }
    return runtimes, tables.get(("crio", "runtime"), {}).get("default_runtime", "")


def _tables(toml: str) -> dict[tuple, dict]:
    """The tables of a TOML file as programs print it: one key per line, values as text without quotes."""
    tables: dict[tuple, dict] = {}
    current: dict[str, str] = tables.setdefault((), {})
    for line in map(str.strip, toml.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            parts = ("".join(groups) for groups in _KEY.findall(line[1:-1]))
            current = tables.setdefault(tuple(parts), {})
        elif "=" in line:
            key, value = line.split("=", 1)
            current[key.strip()] = value.strip().strip("\"'")
    return tables


def _docker(look: dict, wanted: dict) -> Iterator[dict]:
    info = json.loads(look["configuration"] or "{}")
    path = ((info.get("Runtimes") or {}).get("nvidia") or {}).get("path")
    if path not in (BINARY, DOCKER_BINARY):
        yield finding(
            "runtime-entry",
            f"a runtime nvidia of {DOCKER_BINARY}",
            path or "none",
            "run the role nvidia_container_toolkit",
        )
    if wanted["default_runtime"] and info.get("DefaultRuntime") != "nvidia":
        found = info.get("DefaultRuntime") or "none"
        yield finding(
            "runtime-default", "nvidia is the default runtime", found, "run the role nvidia_container_toolkit"
        )


def _cdi_unit(look: dict, _wanted: dict) -> Iterator[dict]:
    state = _state(look, _UNIT, "UnitFileState")
    if state != "enabled":
        yield finding("cdi-unit", f"{_UNIT}.service enabled", state, "run the role nvidia_container_toolkit")


def _cdi_specification(look: dict, wanted: dict) -> Iterator[dict]:
    again = "start nvidia-cdi-refresh.service and see what it says"
    if look["second_specification"]:
        yield finding(
            "cdi-conflict", "one CDI specification", "a second one, /etc/cdi/nvidia.yaml", "remove the second one"
        )
    if not look["driver_loaded"]:
        yield finding(
            "driver-loaded",
            "a loaded driver",
            "none, so no CDI specification can be made",
            "run the role nvidia_driver",
        )
        return
    if not look["specification"]:
        yield finding("cdi-spec", wanted["specification"], "absent", again)
        return
    if look["outdated"]:
        yield finding("cdi-stale", "a CDI specification younger than the kernel's modules", "an older one", again)
    if look["gone"]:
        yield finding(
            "cdi-paths", "a CDI specification of files that exist", f"without {', '.join(look['gone'])}", again
        )
    # The number and the UUID of each GPU, and all of them together.
    expected = 2 * len(look["nodes"]) + 1
    devices = [
        device for device in look["devices"] if re.fullmatch(r"nvidia\.com/gpu=(all|\d+|GPU-[0-9a-f-]+)", device)
    ]
    if len(devices) != expected:
        found = f"{len(devices)}: {', '.join(devices)}" if devices else "none"
        yield finding("cdi-devices", f"{expected} CDI devices for {len(look['nodes'])} GPUs", found, again)


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"nvidia_container_toolkit_findings": nvidia_container_toolkit_findings}
