# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the groups are, as kubectl and openshift-client see it, and what their containers were told, asked inside of them."""

from __future__ import annotations

import os

import openshift_client as oc
import pytest
import testinfra

LABEL = "leaderworkerset.sigs.k8s.io"


@pytest.fixture(scope="module")
def racks():
    """The rack of each node."""
    oc.set_default_oc_path(os.environ.get("KUBECTL", "kubectl"))
    oc.set_default_kubeconfig_path(os.environ["KUBECONFIG"])
    nodes = [node.model.metadata for node in oc.selector("nodes", labels={"nvidia.com/gpu.present": "true"}).objects()]
    return {node.name: node.labels["topology.kubegang.dev/rack"] for node in nodes}


def test_both_groups_run_each_pod_on_a_node_of_its_own(objects_of, by_group):
    groups = by_group(objects_of("serve", "pods"))
    assert sorted(groups) == ["0", "1"]
    for pods in groups.values():
        assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 3
        assert len({pod["spec"]["nodeName"] for pod in pods}) == 3


def test_each_group_is_one_gang_of_three_in_the_queue_that_was_asked_for(objects_of, by_group):
    podgroups = objects_of("serve", "podgroups.scheduling.volcano.sh")
    assert [(group["spec"]["minMember"], group["spec"]["queue"]) for group in podgroups] == [(3, "molecule-lws")] * 2
    named = [{name_of_group(pod) for pod in pods} for pods in by_group(objects_of("serve", "pods")).values()]
    assert sorted(named, key=sorted) == [{name} for name in sorted(group["metadata"]["name"] for group in podgroups)]


def name_of_group(pod):
    return pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"]


def test_each_group_has_a_rack_to_itself(objects_of, by_group, racks):
    groups = by_group(objects_of("racks", "pods", "molecule-racks"))
    used = {index: {racks[pod["spec"]["nodeName"]] for pod in pods} for index, pods in groups.items()}
    assert [len(each) for each in used.values()] == [1, 1]
    assert used["0"] != used["1"]
    assert [len(pods) for pods in groups.values()] == [3, 3]


@pytest.fixture(params=[0, 1, 2], ids=["leader", "worker 1", "worker 2"])
def member(request, monkeypatch):
    """A container of the small group, and which of its pods it is in."""
    index = request.param
    name, container = (f"small-0-{index}", "worker") if index else ("small-0", "leader")
    # testinfra calls kubectl by that name.
    monkeypatch.setenv("PATH", os.path.dirname(os.environ.get("KUBECTL", "")), prepend=os.pathsep)
    where = f"container={container}&namespace=molecule-lws&kubeconfig={os.environ['KUBECONFIG']}"
    return index, testinfra.get_host(f"kubectl://{name}?{where}")


def test_container_knows_its_leader_its_group_and_its_place(member):
    index, container = member
    told = dict(line.split("=", 1) for line in container.check_output("env | grep ^LWS_").splitlines())
    assert told == {
        "LWS_LEADER_ADDRESS": "small-0.small.molecule-lws",
        "LWS_GROUP_SIZE": "3",
        "LWS_WORKER_INDEX": str(index),
    }


def test_leader_and_workers_run_what_their_own_template_says(member):
    index, container = member
    assert container.file("/proc/1/cmdline").content.split(b"\0")[1] == (b"2000000" if index else b"1000000")
