# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After one pod of the gang was evicted: RestartJob has replaced all of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import openshift_client as oc
import pytest


@pytest.fixture(scope="module")
def before():
    """The pods as they were before the first of them was evicted."""
    return json.loads(Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "before.json").read_text())


@pytest.fixture(scope="module")
def pods():
    oc.set_default_oc_path(os.environ.get("KUBECTL", "kubectl"))
    oc.set_default_kubeconfig_path(os.environ["KUBECONFIG"])
    with oc.project("molecule"):
        return [pod.model for pod in oc.selector("pods", labels={"volcano.sh/job-name": "train"}).objects()]


def test_gang_is_whole_again(pods):
    assert [pod.status.phase for pod in pods] == ["Running"] * 3


def test_every_pod_is_a_new_one(pods, before):
    old = {pod["metadata"]["uid"] for pod in before}
    assert len(old) == 3
    assert not old & {pod.metadata.uid for pod in pods}


def test_gang_left_the_drained_node(pods, before):
    assert before[0]["spec"]["nodeName"] not in {pod.spec.nodeName for pod in pods}


def test_job_counts_one_restart():
    with oc.project("molecule"):
        job = oc.selector("jobs.batch.volcano.sh/train").object().model
    assert (job.status.state.phase, job.status.retryCount) == ("Running", 1)


def test_drained_node_takes_pods_again(before):
    node = oc.selector(f"node/{before[0]['spec']['nodeName']}").object().model
    assert not node.spec.unschedulable
