# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each finding about the GPUs of a cluster, seen true and seen false."""

from __future__ import annotations

from copy import deepcopy

import pytest
from ansible_collections.kubegang.core.plugins.filter.gpu_stack_report import gpu_stack_report
from ansible_collections.kubegang.core.plugins.module_utils._gpus import summary

GPU = "nvidia.com/gpu"
PRESENT = "nvidia.com/gpu.present"
WANTED = {
    "provider": "helm",
    "gpus": {},
    "replicas": 1,
    "resource_names": [GPU],
    "image": "registry/plugin:v1",
    "runtime_class": "nvidia",
    "runtime_handler": "nvidia",
}
ANY = {**WANTED, "provider": "existing", "resource_names": [], "image": "", "runtime_class": ""}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "feature.node.kubernetes.io/pci-10de.present", "operator": "Exists"}]},
                {"matchExpressions": [{"key": PRESENT, "operator": "In", "values": ["true"]}]},
            ]
        }
    }
}


def node(name, capacity, allocatable=None, labels=None, taints=(), ready="True"):
    """A GPU node; capacity and allocatable by resource, or of whole GPUs."""
    capacity = capacity if isinstance(capacity, dict) else {GPU: capacity}
    allocatable = capacity if allocatable is None else allocatable
    allocatable = allocatable if isinstance(allocatable, dict) else {GPU: allocatable}
    return {
        "metadata": {"name": name, "labels": {PRESENT: "true", **(labels or {})}},
        "spec": {"taints": list(taints)},
        "status": {
            "capacity": {key: str(value) for key, value in capacity.items()},
            "allocatable": {key: str(value) for key, value in allocatable.items()},
            "conditions": [{"type": "Ready", "status": ready, "message": "Kubelet stopped posting node status."}],
        },
    }


def plugin(desired, ready=None, name="nvidia-device-plugin", **spec):
    ready = desired if ready is None else ready
    pod_spec = {"runtimeClassName": "nvidia", "containers": [{"name": "c", "image": "registry/plugin:v1"}], **spec}
    return {
        "metadata": {"name": name, "namespace": "gpu"},
        "spec": {"template": {"spec": pod_spec}},
        "status": {"desiredNumberScheduled": desired, "numberReady": ready},
    }


def pod(state, last=None, ready=False, name="nvidia-device-plugin-x1"):
    container = {"name": "c", "ready": ready, "state": state, "lastState": last or {}}
    return {
        "metadata": {"name": name, "namespace": "gpu"},
        "spec": {"nodeName": "gpu-1"},
        "status": {"phase": "Running", "containerStatuses": [container]},
    }


def event(name, message, at="2026-01-01T00:00:00Z"):
    return {"involvedObject": {"name": name}, "message": message, "lastTimestamp": at}


def smoke(phase, message=None, **status):
    ended = {"state": {"terminated": {"exitCode": 0, "message": message}}} if message is not None else {"state": {}}
    return {
        "metadata": {"name": "smoke-1", "annotations": {"kubegang.dev/node": "gpu-1"}},
        "status": {"phase": phase, "containerStatuses": [ended], **status},
    }


def report(nodes, wanted=WANTED, **seen):
    nodes = deepcopy(nodes)
    everything = {
        "nodes": nodes,
        "gpus": summary(nodes, {}, (), 1)["nodes"],
        "plugins": [plugin(len(nodes))],
        "add_ons": [],
        "pods": [],
        "events": [],
        "runtime_classes": [{"metadata": {"name": "nvidia"}, "handler": "nvidia"}],
        "policies": [],
        "smoke": [],
    }
    return gpu_stack_report({**everything, **seen}, wanted)


def findings(nodes, wanted=WANTED, **seen):
    return {(each["id"], each["object"]): each for each in report(nodes, wanted, **seen)["findings"]}


def one(nodes, wanted=WANTED, **seen):
    [finding] = report(nodes, wanted, **seen)["findings"]
    return finding


WELL = node("gpu-1", 8, labels={f"{GPU}.count": "8"})


def test_a_cluster_where_all_is_well_has_numbers_and_no_findings():
    told = report([WELL])
    assert told["findings"] == []
    assert told["gpu_resources"] == {GPU: 8}
    assert told["nodes"]["gpu-1"] == {"expected": 8, "capacity": 8, "allocatable": 8, "free": 8, "resource": GPU}


def test_bad_nodes_are_named_and_only_they():
    count = {f"{GPU}.count": "8"}
    cpu = {
        "metadata": {"name": "cpu-1"},
        "spec": {},
        "status": {"capacity": {"cpu": "16"}, "allocatable": {"cpu": "16"}},
    }
    nodes = [node("gpu-a", 8, labels=count), node("gpu-b", 0, labels=count), node("gpu-c", 8, 7, labels=count), cpu]
    told = report(nodes, plugins=[plugin(3)])
    assert [(each["id"], each["object"]) for each in told["findings"]] == [
        ("gpu-count", "node gpu-b"),
        ("gpu-count", "node gpu-c"),
    ]
    assert told["nodes"]["gpu-c"]["allocatable"] == 7
    assert "cpu-1" not in told["nodes"]


COUNTS = [
    (node("gpu-1", 0), {}, "no plugin has registered"),
    (node("gpu-1", 8, 0), {}, "plugin is gone"),
    (node("gpu-1", 8, 6), {}, "2 unhealthy"),
    (node("gpu-1", 7), {"gpu-1": 8}, "GPUs are lost"),
    (node("gpu-1", 8, labels={f"{GPU}.count": "4"}), {}, "out of date"),
]


@pytest.mark.parametrize(("of", "gpus", "remedy"), COUNTS)
def test_wrong_number_is_found_with_what_it_points_at(of, gpus, remedy):
    finding = one([of], {**WANTED, "gpus": gpus})
    assert finding["id"] == "gpu-count"
    assert remedy in finding["remedy"]


RIGHT_COUNTS = [
    (node("gpu-1", 3), {}),
    (node("gpu-1", 8, labels={f"{GPU}.count": "4"}), {"gpus": {"gpu-1": 8}}),
    (node("gpu-1", 16, labels={f"{GPU}.count": "4", f"{GPU}.replicas": "4"}), {}),
    (node("gpu-1", 16, labels={f"{GPU}.count": "4"}), {"replicas": 4}),
]


@pytest.mark.parametrize(("of", "wanted"), RIGHT_COUNTS)
def test_right_number_is_no_finding(of, wanted):
    assert report([of], {**WANTED, **wanted})["findings"] == []


SHARED = node(
    "ts-1",
    {GPU: 0, f"{GPU}.shared": 16},
    labels={f"{GPU}.count": "4", f"{GPU}.replicas": "4", f"{GPU}.sharing-strategy": "time-slicing"},
)


def test_shared_gpus_of_a_foreign_plugin_are_well_under_their_own_name():
    told = report([SHARED], ANY, plugins=[], runtime_classes=[])
    assert told["findings"] == []
    assert told["gpu_resources"] == {f"{GPU}.shared": 16}


def test_name_that_is_not_configured_is_found():
    found = findings([SHARED])
    assert found["gpu-resource", "node ts-1"]["expected"] == GPU
    assert found["gpu-resource", "node ts-1"]["found"] == f"{GPU}.shared"
    assert report([SHARED], {**WANTED, "resource_names": [f"{GPU}.shared"]})["findings"] == []


def test_former_name_without_devices_is_no_finding():
    changed = node("gpu-1", {GPU: 2, f"{GPU}.shared": 8}, {GPU: 0, f"{GPU}.shared": 8})
    assert report([changed], {**WANTED, "resource_names": [f"{GPU}.shared"]})["findings"] == []


def test_mig_devices_are_counted_by_their_own_labels():
    mig = "nvidia.com/mig-1g.10gb"
    labels = {f"{GPU}.count": "1", f"{mig}.count": "7"}
    wanted = {**WANTED, "resource_names": [GPU, "nvidia.com/mig-*"]}
    assert report([node("gpu-1", {mig: 7}, labels=labels)], wanted)["findings"] == []
    finding = one([node("gpu-1", {mig: 6}, labels=labels)], wanted)
    assert finding["expected"].startswith("7 ")
    assert one([node("gpu-1", {mig: 7}, {mig: 6})], wanted)["id"] == "gpu-count"


def test_nothing_of_nothing_is_no_success():
    cpu = {"metadata": {"name": "cpu-1"}, "spec": {}, "status": {}}
    assert one([cpu], plugins=[plugin(0)])["id"] == "gpu-nodes"


def test_no_plugin_is_found_unless_somebody_else_answers_for_it():
    assert one([WELL], plugins=[])["id"] == "plugin"
    assert report([WELL], ANY, plugins=[])["findings"] == []


def test_two_plugins_are_found():
    finding = one([WELL], plugins=[plugin(1), plugin(1, name="another")])
    assert finding["found"] == "DaemonSet gpu/nvidia-device-plugin, DaemonSet gpu/another"


def test_plugin_of_another_version_is_found():
    finding = one([WELL], plugins=[plugin(1, containers=[{"name": "c", "image": "registry/plugin:v0"}])])
    assert (finding["id"], finding["found"]) == ("plugin-version", "registry/plugin:v0")


def test_taint_is_named_with_each_node_that_it_keeps_the_plugin_off():
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    nodes = [node(name, 0, taints=[taint]) for name in ("g1", "g2")]
    toleration = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    found = findings(nodes, plugins=[plugin(0, tolerations=[toleration])])
    reached = [found["plugin-reach", f"node {name}"]["found"] for name in ("g1", "g2")]
    assert reached == ["taint dedicated=gpu:NoSchedule, which its pods do not tolerate"] * 2


REACHED = [
    ({}, {"tolerations": [{"operator": "Exists"}]}, [{"key": "dedicated", "effect": "NoSchedule"}]),
    ({}, {}, [{"key": "dedicated", "effect": "PreferNoSchedule"}]),
    ({}, {}, [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]),
    ({"zone": "a"}, {"nodeSelector": {"zone": "a"}}, []),
    ({}, {"affinity": AFFINITY}, []),
]


@pytest.mark.parametrize(("labels", "spec", "taints"), REACHED)
def test_node_that_the_plugin_reaches_is_no_finding(labels, spec, taints):
    assert report([node("gpu-1", 8, labels=labels, taints=taints)], plugins=[plugin(1, **spec)])["findings"] == []


OUT_OF_REACH = [
    ({"zone": "b"}, {"nodeSelector": {"zone": "a"}}, "no label zone=a"),
    ({PRESENT: "false"}, {"affinity": AFFINITY}, "affinity does not select (it wants feature"),
]


@pytest.mark.parametrize(("labels", "spec", "reason"), OUT_OF_REACH)
def test_node_that_the_plugin_does_not_reach_is_named_with_the_reason(labels, spec, reason):
    finding = one([node("gpu-1", 8, labels=labels)], plugins=[plugin(0, **spec)])
    assert finding["id"] == "plugin-reach"
    assert reason in finding["found"]


OPERATORS = [
    ("In", ["a", "b"], True),
    ("In", ["b"], False),
    ("NotIn", ["b"], True),
    ("NotIn", ["a"], False),
    ("Exists", None, True),
    ("DoesNotExist", None, False),
    ("Gt", ["3"], True),
    ("Gt", ["4"], False),
    ("Lt", ["5"], True),
    ("Lt", ["4"], False),
]


@pytest.mark.parametrize(("operator", "values", "reached"), OPERATORS)
def test_every_operator_of_an_affinity_is_known(operator, values, reached):
    key = "number" if operator in ("Gt", "Lt") else "zone"
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    one_node = node("gpu-1", 8, labels={"zone": "a", "number": "4"})
    found = report([one_node], plugins=[plugin(1, affinity={"nodeAffinity": required})])["findings"]
    assert [each["id"] for each in found] == ([] if reached else ["plugin-reach"])


def test_fewer_pods_than_gpu_nodes_are_found_even_without_a_reason():
    finding = one([WELL, node("gpu-2", 8)], plugins=[plugin(1)])
    assert (finding["id"], finding["expected"], finding["found"]) == (
        "plugin-reach",
        "pods on 2 GPU nodes",
        "pods on 1",
    )


CRASHED = pod(
    {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
    {"terminated": {"exitCode": 1, "message": "NVML could not be loaded"}},
)


def test_crash_without_the_nvidia_runtime_points_at_the_runtime_and_not_at_the_driver():
    bare = plugin(1, 0, runtimeClassName=None)
    found = findings([node("gpu-1", 0)], ANY, plugins=[bare], pods=[CRASHED], runtime_classes=[])
    finding = found["plugin-pod", "pod gpu/nvidia-device-plugin-x1 on node gpu-1"]
    assert finding["found"] == "container c: CrashLoopBackOff: exit code 1: NVML could not be loaded"
    assert "RuntimeClass" in finding["remedy"]
    assert not any("driver" in each["text"] for each in found.values())


def test_crash_under_the_nvidia_runtime_points_at_the_log():
    finding = one([WELL], plugins=[plugin(1, 0)], pods=[CRASHED])
    assert finding["remedy"].startswith("look at the log of this pod")


def test_pod_that_does_not_start_says_what_its_newest_event_says():
    stuck = pod({"waiting": {"reason": "ContainerCreating"}})
    stuck["status"]["phase"] = "Pending"
    events = [
        event("nvidia-device-plugin-x1", "older"),
        event("nvidia-device-plugin-x1", 'no runtime for "nvidia" is configured', "2026-01-01T00:01:00Z"),
        event("another", "stranger", "2026-01-01T00:02:00Z"),
    ]
    finding = one([WELL], plugins=[plugin(1, 0)], pods=[stuck], events=events)
    assert finding["found"] == 'Pending; no runtime for "nvidia" is configured'
    assert "has its handler" in finding["remedy"]


def test_pods_of_others_and_ready_ones_are_not_blamed():
    pods = [
        pod({"waiting": {"reason": "CrashLoopBackOff"}}, name="nvidia-device-plugin-mps-control-daemon-x1"),
        pod({"running": {}}, ready=True, name="nvidia-device-plugin-x2"),
        CRASHED,
    ]
    finding = one([WELL], plugins=[plugin(2, 1)], pods=pods)
    assert finding["object"] == "pod gpu/nvidia-device-plugin-x1 on node gpu-1"


def test_pod_belongs_to_the_daemonset_that_owns_it():
    owned = deepcopy(CRASHED)
    owned["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "nvidia-device-plugin-mps-control-daemon"}]
    finding = one([WELL], plugins=[plugin(1, 0)], pods=[owned])
    assert finding["object"] == "DaemonSet gpu/nvidia-device-plugin"


def test_daemonset_that_may_make_no_pods_says_why():
    events = [event("nvidia-device-plugin", 'pod rejected: RuntimeClass "nvidia" not found')]
    found = findings([WELL], plugins=[plugin(1, 0)], events=events, runtime_classes=[])
    finding = found["plugin-pod", "DaemonSet gpu/nvidia-device-plugin"]
    assert finding["found"] == '0 (pod rejected: RuntimeClass "nvidia" not found)'
    assert found["runtime-class", "RuntimeClass nvidia"]["found"] == "none"


def test_runtime_class_with_another_handler_is_found():
    classes = [{"metadata": {"name": "nvidia"}, "handler": "runc"}]
    finding = one([WELL], runtime_classes=classes)
    assert (finding["expected"], finding["found"]) == ("handler nvidia", "handler runc")


def test_handler_of_a_foreign_plugin_s_class_is_its_own_business():
    classes = [{"metadata": {"name": "nvidia"}, "handler": "nvidia-cdi"}]
    assert report([WELL], ANY, runtime_classes=classes)["findings"] == []


def test_policy_of_an_operator_has_to_be_ready():
    policy = {"metadata": {"name": "cluster-policy"}, "status": {"state": "ready"}}
    operated = {**ANY, "provider": "operator"}
    assert report([WELL], operated, policies=[policy])["findings"] == []
    message = {"type": "Error", "status": "True", "message": "driver is not ready"}
    policy["status"] = {"state": "notReady", "conditions": [message]}
    assert one([WELL], operated, policies=[policy])["found"] == "state notReady (driver is not ready)"


@pytest.mark.parametrize(("desired", "ready", "found"), [(1, 1, 0), (1, 0, 1), (0, 0, 1)])
def test_add_on_without_all_its_pods_is_found(desired, ready, found):
    add_on = plugin(desired, ready, name="nvidia-device-plugin-gpu-feature-discovery")
    assert [each["id"] for each in report([WELL], add_ons=[add_on])["findings"]] == ["add-on"] * found


def test_node_that_is_not_ready_is_found():
    finding = one([node("gpu-1", 8, ready="Unknown")])
    assert (finding["id"], finding["found"]) == ("node", "Kubelet stopped posting node status.")


SMOKE = [
    (smoke("Succeeded", "1\n"), None),
    (smoke("Succeeded", "0\n"), "0 in it"),
    (smoke("Succeeded", ""), "nothing in it"),
    (smoke("Failed", "no such file"), "Failed: no such file"),
    (smoke("Failed", message=None, reason="UnexpectedAdmissionError"), "Failed"),
    (
        smoke("Pending", conditions=[{"type": "PodScheduled", "status": "False", "message": "1 Insufficient"}]),
        "Pending: 1 Insufficient",
    ),
    (smoke("Running"), "Running"),
]


@pytest.mark.parametrize(("run", "found"), SMOKE)
def test_pod_with_a_gpu_has_to_see_it(run, found):
    told = report([WELL], smoke=[run])["findings"]
    assert [each["found"] for each in told] == ([found] if found else [])


def test_text_of_a_finding_holds_all_of_it():
    finding = one([node("gpu-1", 8, 7)])
    for key in ("object", "expected", "found", "remedy"):
        assert finding[key] in finding["text"]
