# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that every level shares. A cluster that cannot be started is an error of the test, never a skip."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import cluster as clusters
from tests.support.cluster import AuditLog, Kubectl, LiveCluster
from tests.support.playbooks import Ansible, TaskResult


@pytest.fixture(scope="session")
def lab() -> LiveCluster:
    """A running cluster; it stays up afterwards, for the next level."""
    return clusters.start()


@pytest.fixture(scope="session")
def kubectl(lab: LiveCluster) -> Kubectl:
    return Kubectl(lab)


@pytest.fixture(scope="session")
def oc(lab: LiveCluster) -> Iterator[Any]:
    """openshift-client, with kubectl as its binary: a second independent look."""
    import openshift_client

    openshift_client.set_default_oc_path(str(lab.kubectl))
    openshift_client.set_default_kubeconfig_path(str(lab.kubeconfig))
    with openshift_client.tracking():
        yield openshift_client


@pytest.fixture(scope="session")
def audit_log(lab: LiveCluster, kubectl: Kubectl) -> AuditLog:
    if not lab.is_lab:
        pytest.fail("this test reads the API server's audit log, which only the lab offers (unset LAB=none)")
    return AuditLog(Path(lab.facts["audit_log"]), kubectl)


@pytest.fixture(scope="session")
def ansible(lab: LiveCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ansible]:
    """ansible-core with the installed artefact, pointed at the lab."""
    with Ansible(tmp_path_factory.mktemp("ansible"), lab.environment) as run:
        yield run


@pytest.fixture(scope="session")
def volcano(lab: LiveCluster, ansible: Ansible) -> None:
    """Volcano and LeaderWorkerSet as the roles install them; nothing happens when they are there already."""
    ansible.playbook("kubegang.core.site", extra_vars=clusters.site_vars(lab)).checked()


@pytest.fixture
def namespace(request: pytest.FixtureRequest, kubectl: Kubectl) -> Iterator[str]:
    """A fresh namespace for one test, named after it."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))
    name = f"{words[:40].strip('-')}-{uuid.uuid4().hex[:6]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")


@pytest.fixture
def run_module(ansible: Ansible) -> Callable[..., TaskResult]:
    """``run_module("volcano_job", check=True, name=…)``: one real task; a failed one is a result, not an error."""

    def run(
        module: str, *, check: bool = False, diff: bool = True, own_process: bool = False, **params: Any
    ) -> TaskResult:
        return ansible.module(module, params, check=check, diff=diff, own_process=own_process)

    return run
