# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which addresses a lab takes."""

from __future__ import annotations

import ipaddress
import json

import pytest

from tests.lab import network
from tests.lab.network import Network


def test_the_ends_of_a_link_are_neighbours() -> None:
    assert (Network(0).host, Network(0).lab) == ("198.18.0.1", "198.18.0.2")
    assert (Network(64).host, Network(64).lab) == ("198.18.1.1", "198.18.1.2")


def test_two_labs_share_no_address() -> None:
    subnets = [ipaddress.ip_network(f"{Network(index).host}/30", strict=False) for index in range(100)]
    assert len(set(subnets)) == len(subnets)


@pytest.mark.parametrize("index", [0, 1, 16383])
def test_a_network_is_found_again_by_its_address(index: int) -> None:
    assert Network.of(Network(index).lab) == Network(index)


def test_a_subnet_that_the_host_has_a_route_to_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = [{"dst": "default"}, {"dst": "198.18.0.0/30"}, {"dst": "198.18.0.6"}, {"dst": "10.0.0.0/8"}]
    monkeypatch.setattr(network, "run", lambda _argv: json.dumps(routes))
    assert next(network.free_networks()).index == 2
