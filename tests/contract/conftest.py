# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections to the lab, direct and through a relay that breaks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from ansible_collections.kubegang.core.plugins.module_utils._cluster import Cluster

from tests.contract.relay import Relay
from tests.support.cluster import LiveCluster


@pytest.fixture(scope="session")
def kubeconfig(lab: LiveCluster) -> dict[str, Any]:
    return yaml.safe_load(lab.kubeconfig.read_text())


@pytest.fixture
def connect(lab: LiveCluster) -> Callable[..., Cluster]:
    """``connect(patience=…, dry_run=…, **options)``: a Cluster with these connection options, by default the lab's."""

    def opened(*, patience: float = 10, dry_run: bool = False, **options: Any) -> Cluster:
        options.setdefault("kubeconfig", str(lab.kubeconfig))
        return Cluster.connect(options, patience=patience, dry_run=dry_run)

    return opened


@pytest.fixture
def cluster(connect: Callable[..., Cluster]) -> Cluster:
    return connect()


@pytest.fixture
def relay(kubeconfig: dict[str, Any]) -> Iterator[Relay]:
    server = urlsplit(kubeconfig["clusters"][0]["cluster"]["server"])
    with Relay(server.hostname or "", server.port or 443).running() as running:
        yield running


@pytest.fixture
def through_relay(relay: Relay, kubeconfig: dict[str, Any], connect: Callable[..., Cluster]) -> Callable[..., Cluster]:
    """As ``connect``, with every byte passing the relay; the server's certificate is checked under its own name."""
    server = urlsplit(kubeconfig["clusters"][0]["cluster"]["server"])
    rerouted = yaml.safe_load(yaml.safe_dump(kubeconfig))
    rerouted["clusters"][0]["cluster"].update(
        {"server": f"https://127.0.0.1:{relay.port}", "tls-server-name": server.hostname}
    )
    return lambda **options: connect(kubeconfig=rerouted, **options)
