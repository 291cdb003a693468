# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab's network namespace and the one link that joins it to the host."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError
from .lock import exclusively
from .place import LABS, Place
from .shell import run, succeeds

# RFC 2544's block for benchmarks: never routed on the internet, hardly used on premises. Each lab takes one /30 of it.
_BLOCK = ipaddress.IPv4Network("198.18.0.0/16")
_LINK_PREFIX = "kubegang"
_NAMESPACES_LOCK = LABS / ".namespaces.lock"

# Inside the namespace every lab has the same ranges.
SERVICE_RANGE = "10.96.0.0/16"
SERVICE_OF_KUBERNETES = "10.96.0.1"
POD_RANGE = "10.244.0.0/24"
SIMULATED_POD_RANGE = "10.128.0.1/16"


@dataclass(frozen=True)
class Network:
    """Addresses of the two ends of the link."""

    index: int

    @classmethod
    def of(cls, lab: str) -> Network:
        """The network whose lab's end has this address."""
        return cls((int(ipaddress.IPv4Address(lab)) - int(_BLOCK.network_address)) // 4)

    @property
    def link(self) -> str:
        """The host's end; the name carries the subnet so that two labs can never take the same one."""
        return f"{_LINK_PREFIX}{self.index}"

    @property
    def _subnet(self) -> ipaddress.IPv4Network:
        return ipaddress.IPv4Network((int(_BLOCK.network_address) + 4 * self.index, 30))

    @property
    def host(self) -> str:
        return str(self._subnet[1])

    @property
    def lab(self) -> str:
        """Where the lab's API server and node listen; reachable from the host."""
        return str(self._subnet[2])

    @property
    def prefix(self) -> int:
        return self._subnet.prefixlen


def create(place: Place) -> Network:
    """The namespace with its link up. No route, rule or setting of the host changes but the link's own subnet."""
    with exclusively(_NAMESPACES_LOCK, "changing namespaces"):
        run(["ip", "netns", "add", place.netns])
    run(["ip", "-n", place.netns, "link", "set", "lo", "up"])
    network = _link(place)
    run(["ip", "-n", place.netns, "addr", "add", f"{network.lab}/{network.prefix}", "dev", "eth0"])
    run(["ip", "-n", place.netns, "link", "set", "eth0", "up"])
    # A service's address needs a route before kube-proxy's rules can turn it into a pod's. There is no default route:
    # what the lab sends elsewhere fails at once instead of leaving the machine.
    run(["ip", "-n", place.netns, "route", "add", SERVICE_RANGE, "dev", "eth0"])
    run(["ip", "addr", "add", f"{network.host}/{network.prefix}", "dev", network.link])
    run(["ip", "link", "set", network.link, "up"])
    return network


def remove(place: Place) -> None:
    """The host's end of the link goes with the lab's."""
    with exclusively(_NAMESPACES_LOCK, "changing namespaces"):
        if place.netns_file.exists():
            succeeds(["ip", "-n", place.netns, "link", "delete", "eth0"])
            run(["ip", "netns", "delete", place.netns])
        _remove_empty_folder(place.netns_file.parent)
        _NAMESPACES_LOCK.unlink()


def inside(place: Place) -> list[str]:
    """What to put before a command to run it in the namespace. (ip netns exec would remount /sys and hide cgroups.)"""
    return ["nsenter", f"--net={place.netns_file}"]


def _remove_empty_folder(folder: Path) -> None:
    """ip mounts its folder of namespaces onto itself when it makes the first one, and never takes that back."""
    if folder.is_dir() and not any(folder.iterdir()):
        succeeds(["umount", folder])
        folder.rmdir()


def _link(place: Place) -> Network:
    for network in free_networks():
        if succeeds(["ip", "link", "add", network.link, "type", "veth", "peer", "name", "eth0", "netns", place.netns]):
            return network
    raise LabError(f"no free /30 is left in {_BLOCK} for another lab")


def free_networks() -> Iterator[Network]:
    """In order; a lab that starts at the same moment may still take one first, which makes ip link fail."""
    used = list(_used_networks())
    for index in range(_BLOCK.num_addresses // 4):
        network = Network(index)
        if not any(ipaddress.IPv4Address(network.lab) in subnet for subnet in used):
            yield network


def _used_networks() -> Iterator[ipaddress.IPv4Network]:
    """Every subnet that the host has a route to, in any of its tables."""
    for route in json.loads(run(["ip", "-4", "-json", "route", "show", "table", "all"]) or "[]"):
        if route["dst"] != "default":
            yield ipaddress.IPv4Network(route["dst"])
