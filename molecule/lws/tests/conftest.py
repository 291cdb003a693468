# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups as kubectl sees them, now and as the steps of the scenario kept them."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import testinfra

Object = dict[str, Any]
LABEL = "leaderworkerset.sigs.k8s.io"
KEPT = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])


@pytest.fixture(scope="session")
def objects_of() -> Callable[..., list[Object]]:
    """``objects_of("serve", "pods")``: what kubectl finds of a LeaderWorkerSet, each time anew."""
    host = testinfra.get_host("local://")

    def look(name: str, kind: str, namespace: str = "molecule-lws") -> list[Object]:
        kubectl = os.environ.get("KUBECTL", "kubectl")
        said = host.check_output(f"{kubectl} get {kind} -n {namespace} -l {LABEL}/name={name} -o json")
        return json.loads(said)["items"]

    return look


@pytest.fixture(scope="session")
def by_group() -> Callable[[list[Object]], dict[str, list[Object]]]:
    """Pods by the index of their group."""

    def sort(pods: list[Object]) -> dict[str, list[Object]]:
        groups = defaultdict(list)
        for pod in pods:
            groups[pod["metadata"]["labels"][f"{LABEL}/group-index"]].append(pod)
        return dict(groups)

    return sort


@pytest.fixture(scope="session")
def uids() -> Callable[[list[Object]], set[str]]:
    return lambda objects: {each["metadata"]["uid"] for each in objects}


@pytest.fixture(scope="session")
def kept() -> Callable[[str], list[Object]]:
    """``kept("serve")``: its pods when the latest step began."""
    return lambda name: json.loads((KEPT / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def events() -> list[Object]:
    """What the latest watch recorded, event by event."""
    documents = (KEPT / "watch.json").read_text()
    return json.loads("[" + documents.replace("}\n{", "},{") + "]")
