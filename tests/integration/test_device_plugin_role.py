# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role nvidia_device_plugin on a lab of its own: a real kubelet, its real device-plugin API, and a plugin without GPUs.

The lab is not the one of the other tests, because a kubelet that has once seen a plugin keeps the name of its resource.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.control_plane import SIMULATED_NODE
from tests.lab.node import NAME as NODE
from tests.support import cluster as clusters
from tests.support.cluster import AuditLog, Kubectl, LiveCluster
from tests.support.playbooks import Ansible, PlaybookRun

GPU = "nvidia.com/gpu"
PRESENT = "nvidia.com/gpu.present"
DAEMONSET = ("-n", "nvidia-device-plugin", "daemonset", "nvidia-device-plugin")
TAINT = "dedicated=gpu:NoExecute"
SIMULATED = dict([SIMULATED_NODE])


@pytest.fixture(scope="module")
def lab() -> Iterator[LiveCluster]:
    """A lab without simulated GPU nodes, for this file alone."""
    if os.environ.get("KUBEGANG_LAB") == "none":
        pytest.fail("this test needs the kubelet of a lab of its own (unset LAB=none)")
    name = f"{os.environ.get('KUBEGANG_LAB_NAME', 'main')}-gpu"
    # What a killed run has left has seen a plugin.
    clusters.lab_word("down", "--name", name)
    yield clusters.start_lab(name, "default", gpu_nodes=0)
    clusters.lab_word("down", "--name", name)


@pytest.fixture(scope="module")
def kubectl(lab: LiveCluster) -> Kubectl:
    return Kubectl(lab)


@pytest.fixture(scope="module")
def audit_log(lab: LiveCluster, kubectl: Kubectl) -> AuditLog:
    return AuditLog(Path(lab.facts["audit_log"]), kubectl)


@pytest.fixture(scope="module")
def ansible(lab: LiveCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ansible]:
    with Ansible(tmp_path_factory.mktemp("ansible"), lab.environment) as run:
        yield run


@pytest.fixture(scope="module")
def role(lab: LiveCluster, ansible: Ansible) -> Callable[..., PlaybookRun]:
    """``role(state="absent")``: the role with the lab's plugin; its variables without their prefix."""

    def run(*, tasks_from: str = "main", check: bool = False, **variables: Any) -> PlaybookRun:
        include = {"name": "kubegang.core.nvidia_device_plugin", "tasks_from": tasks_from}
        named = {f"nvidia_device_plugin_{name}": value for name, value in variables.items()}
        everything = {"nvidia_device_plugin_wait_timeout": 60, **clusters.device_plugin_vars(lab), **named}
        return ansible.play([{"ansible.builtin.include_role": include}], check=check, extra_vars=everything)

    return run


@pytest.fixture(scope="module")
def verify(role) -> Callable[..., list[dict[str, str]]]:
    """The findings of a verification, which changes nothing and fails when there are any."""

    def run(**variables: Any) -> list[dict[str, str]]:
        done = role(tasks_from="verify", **variables)
        findings = report(done)["findings"]
        assert done.changed == []
        assert (done.returncode != 0) is bool(findings), done.output
        assert [each["text"] for each in findings if each["text"] not in done.results[-1].msg] == []
        return findings

    return run


def report(run: PlaybookRun) -> dict[str, Any]:
    kept = [result for result in run.results if result.task.endswith(("Keep what was found", "Keep what they saw"))]
    assert kept, run.output
    return kept[-1]["ansible_facts"]["nvidia_device_plugin_report"]


def refusal(run: PlaybookRun) -> str:
    """Why a run failed, given that it changed nothing before."""
    assert run.returncode != 0, run.output
    assert [result.task for result in run.changed] == []
    return run.results[-1].msg


def gpus(kubectl: Kubectl, resource: str = GPU) -> tuple[str, str]:
    """Capacity and allocatable of the real node."""
    status = kubectl.get("node", NODE)["status"]
    return status["capacity"].get(resource, ""), status["allocatable"].get(resource, "")


def wait_until(what: str, is_so: Callable[[], bool], timeout: float = 30) -> None:
    deadline = time.monotonic() + timeout
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not after {timeout:.0f} s"
        time.sleep(0.2)


VARIABLES = [
    ({"version": "v0.20.0"}, ["nvidia_device_plugin_version", "v0.20.0", "such as 0.20.0"]),
    ({"version": "0.19.2"}, ["nvidia_device_plugin_chart_ref", "holds version", "0.19.2"]),
    ({"helm_values": {"migStrategy": "single"}}, ["helm_values.migStrategy", "nvidia_device_plugin_mig_strategy"]),
    ({"sharing": "time-slicing", "replicas": 1}, ["nvidia_device_plugin_replicas is 1", "2 or more", "time-slicing"]),
    (
        {"sharing": "mps", "mig_strategy": "mixed"},
        ["nvidia_device_plugin_sharing is mps", "mig_strategy is mixed"],
    ),
    ({"gpus": {NODE: 0}}, [f"nvidia_device_plugin_gpus.{NODE} is 0", "1 or more"]),
    ({"source": "manifest", "gfd": True}, ["nvidia_device_plugin_source is manifest", "nvidia_device_plugin_gfd"]),
]


@pytest.mark.parametrize(("variables", "words"), VARIABLES)
def test_wrong_variable_is_named_before_the_cluster_is_asked(role, variables, words):
    run = role(**variables)
    message = refusal(run)
    assert [word for word in words if word not in message] == []
    assert not [result for result in run.results if result.action.startswith("kubernetes.core.")]


def test_node_that_does_not_exist_is_named(role):
    assert "no node gpu-77" in refusal(role(label_nodes=[NODE, "gpu-77"]))


def test_cluster_without_gpus_is_no_success(verify):
    assert [each["id"] for each in verify(gpus={})] == ["runtime-class", "gpu-nodes", "plugin"]


def test_feature_discovery_without_what_it_stands_on_is_refused(role):
    assert "nvidia_device_plugin_nfd to true" in refusal(role(gfd=True))


def test_check_mode_on_a_bare_cluster_predicts_and_writes_nothing(role, kubectl):
    run = role(check=True).checked()
    assert {result.task.rpartition(" : ")[2] for result in run.changed} == {
        "Create the RuntimeClass",
        "Install or upgrade the Helm release",
        "Label the GPU nodes",
    }
    assert kubectl.get("runtimeclass", "nvidia") is None
    assert kubectl.get("namespace", "nvidia-device-plugin") is None
    assert PRESENT not in kubectl.get("node", NODE)["metadata"]["labels"]


# Somebody else's plugin, on a simulated node


def simulated_node(name: str, gpus: int, allocatable: int | None = None) -> dict[str, Any]:
    """A node of 8 GPUs, by its labels, that offers so many."""
    room = {"cpu": "8", "memory": "64Gi", "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": SIMULATED,
            "labels": {PRESENT: "true", f"{GPU}.count": "8"},
        },
        "spec": {"taints": [{"key": GPU, "value": "present", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {**room, GPU: str(gpus)},
            "allocatable": {**room, GPU: str(gpus if allocatable is None else allocatable)},
        },
    }


@pytest.fixture
def simulate(kubectl: Kubectl) -> Iterator[Callable[..., None]]:
    """Nodes that are gone after the test."""
    names: list[str] = []

    def create(*nodes: dict[str, Any]) -> None:
        names.extend(node["metadata"]["name"] for node in nodes)
        kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))

    yield create
    kubectl("delete", "node", *names)


@pytest.fixture
def their_plugin(kubectl: Kubectl, simulate, namespace: str) -> Iterator[Callable[..., str]]:
    """``their_plugin(node, …)``: a DaemonSet as GPU Operator makes it, for these simulated nodes; its namespace."""
    get = ("-n", namespace, "daemonset", "nvidia-device-plugin-daemonset")

    def create(*nodes: dict[str, Any], pods: int, ready: int, **behaviour: str) -> str:
        simulate(*nodes)
        labels = {"app": "nvidia-device-plugin-daemonset"}
        annotations = {f"lab.kubegang.dev/{name}": value for name, value in behaviour.items()}
        template = {
            "metadata": {"labels": labels, "annotations": annotations},
            "spec": {
                "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
                "nodeSelector": {PRESENT: "true"},
                "containers": [{"name": "plugin", "image": "busybox:1.36"}],
            },
        }
        daemonset = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": get[-1], "namespace": namespace},
        }
        kubectl.apply({**daemonset, "spec": {"selector": {"matchLabels": labels}, "template": template}})
        wait_until("the pods", lambda: counted(kubectl.get(*get)["status"]) == (pods, ready))
        return namespace

    yield create
    kubectl("delete", *get)


def counted(status: dict[str, Any]) -> tuple[int, int] | None:
    """Wanted and ready pods of a DaemonSet, once its controller has looked at it."""
    return (status["desiredNumberScheduled"], status["numberReady"]) if "observedGeneration" in status else None


THEIRS = {"source": "existing", "label_nodes": [], "gpus": {}}


@pytest.fixture
def foreign_plugin(their_plugin) -> str:
    """Such a plugin on one node, and all is well with it."""
    return their_plugin(simulated_node("gpu-a", 8), pods=1, ready=1)


def test_plugin_of_somebody_else_is_refused_and_can_be_verified(role, foreign_plugin):
    message = refusal(role())
    assert f"DaemonSet {foreign_plugin}/nvidia-device-plugin-daemonset" in message
    assert "nvidia_device_plugin_source to existing" in message
    run = role(**THEIRS).checked()
    assert run.changed == []
    assert report(run)["gpu_resources"] == {GPU: 8}


def test_nodes_that_are_short_of_gpus_are_named_and_no_others(role, their_plugin, simulate):
    simulate({**simulated_node("cpu-1", 0), "metadata": {"name": "cpu-1", "annotations": SIMULATED}})
    their_plugin(simulated_node("gpu-a", 8), simulated_node("gpu-b", 0), simulated_node("gpu-c", 8, 7), pods=3, ready=3)
    run = role(tasks_from="verify", **THEIRS)
    message = refusal(run)
    assert [name for name in ("gpu-a", "gpu-b", "gpu-c", "cpu-1") if name in message] == ["gpu-b", "gpu-c"]
    assert {name: (node["capacity"], node["allocatable"]) for name, node in report(run)["nodes"].items()} == {
        "gpu-a": (8, 8),
        "gpu-b": (0, 0),
        "gpu-c": (8, 7),
    }


@pytest.fixture
def job_definition(lab: LiveCluster, kubectl: Kubectl) -> Iterator[None]:
    """Volcano's kinds, and no Volcano: a Job of which nothing becomes."""
    folder = Path(lab.facts["sets"]["default"]["charts"]["volcano"]) / "crd/bases"
    files = [f"--filename={path}" for path in folder.iterdir() if path.name.startswith(("batch", "scheduling"))]
    kubectl("create", *files)
    kubectl("wait", "--for=condition=Established", *files)
    yield
    kubectl("delete", *files)


@pytest.mark.usefixtures("job_definition")
def test_shared_gpus_of_another_name_are_well_and_explain_why_a_gang_waits(role, kubectl, ansible, simulate, namespace):
    node = simulated_node("ts-1", 0)
    sharing = {f"{GPU}.count": "4", f"{GPU}.replicas": "4", f"{GPU}.sharing-strategy": "time-slicing"}
    node["metadata"]["labels"] |= sharing
    for field in ("capacity", "allocatable"):
        node["status"][field][f"{GPU}.shared"] = "16"
    simulate(node)
    run = role(tasks_from="verify", **THEIRS).checked()
    assert run.changed == []
    assert report(run)["gpu_resources"] == {f"{GPU}.shared": 16}
    container = {"name": "c", "image": "registry.example/x:1", "resources": {"limits": {GPU: 1}}}
    task = {"name": "w", "replicas": 1, "minAvailable": 1, "template": {"spec": {"containers": [container]}}}
    kind = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    spec = {"minAvailable": 1, "queue": "default", "schedulerName": "volcano", "tasks": [task]}
    kubectl.apply({**kind, "metadata": {"name": "wants-gpu", "namespace": namespace}, "spec": spec})
    waits = ansible.module("gang_assert", {"name": "wants-gpu", "namespace": namespace, "wait_timeout": 0})
    assert waits.failed
    assert not waits.changed
    assert f"no node has more than 0; nodes offer {GPU}.shared" in waits.msg


def test_taint_that_leaves_a_plugin_without_pods_is_named_with_every_node(role, kubectl, their_plugin):
    nodes = [simulated_node(name, 0) for name in ("g1", "g2")]
    for node in nodes:
        node["spec"]["taints"].append({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"})
    their_plugin(*nodes, pods=0, ready=0)
    run = role(tasks_from="verify", **THEIRS)
    refusal(run)
    # Nothing was waited for.
    assert {result.get("attempts", 1) for result in run.results} == {1}
    reached = [each for each in report(run)["findings"] if each["id"] == "plugin-reach"]
    assert [each["object"] for each in reached] == ["node g1", "node g2"]
    assert ["dedicated=gpu:NoSchedule" in each["found"] for each in reached] == [True, True]


def test_plugin_that_crashes_without_a_runtime_class_points_at_the_runtime(role, kubectl, their_plugin):
    their = their_plugin(simulated_node("gpu-1", 0), pods=1, ready=0, behaviour="crash-loop")
    [pod] = kubectl.items("pods", "-n", their)
    message = refusal(role(tasks_from="verify", **THEIRS))
    for words in (pod["metadata"]["name"], "CrashLoopBackOff", "RuntimeClass"):
        assert words in message
    assert "driver" not in message


CLUSTER_POLICY = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusterpolicies.nvidia.com"},
    "spec": {
        "group": "nvidia.com",
        "scope": "Cluster",
        "names": {"kind": "ClusterPolicy", "plural": "clusterpolicies"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def operator(release: str, namespace: str) -> dict[str, Any]:
    """The Deployment of a GPU Operator's Helm release, without pods."""
    pod = {"metadata": {"labels": {"release": release}}, "spec": {"containers": [{"name": "o", "image": "busybox"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": f"operator-of-{release}",
            "namespace": namespace,
            "labels": {"app.kubernetes.io/component": "gpu-operator"},
            "annotations": {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace},
        },
        "spec": {"replicas": 0, "selector": {"matchLabels": {"release": release}}, "template": pod},
    }


@pytest.fixture
def gpu_operator(kubectl: Kubectl, foreign_plugin: str) -> Iterator[str]:
    """What a GPU Operator leaves on a cluster, as far as the role looks at it."""
    kubectl.apply(CLUSTER_POLICY)
    kubectl("wait", "--for=condition=Established", "crd/clusterpolicies.nvidia.com")
    policy = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}}
    kubectl.apply(
        {**policy, "spec": {}, "status": {"state": "notReady"}}, operator("gpu-operator-1702604969", foreign_plugin)
    )
    yield foreign_plugin
    kubectl("delete", "crd", "clusterpolicies.nvidia.com")
    kubectl("delete", "deployments", "--all", "-n", foreign_plugin)


def test_gpu_operator_is_verified_and_gets_no_second_plugin(role, kubectl, gpu_operator):
    own = {"label_nodes": [], "gpus": {}}
    found = role(**own)
    assert found.returncode != 0
    assert [each["id"] for each in report(found)["findings"]] == ["cluster-policy"]
    assert "expected state ready, found state notReady" in found.results[-1].msg
    kubectl("patch", "clusterpolicy", "cluster-policy", "--type=merge", '--patch={"status": {"state": "ready"}}')
    run = role(**own).checked()
    assert run.changed == []
    assert kubectl.get("namespace", "nvidia-device-plugin") is None
    kubectl.apply(operator("gpu-operator", gpu_operator))
    message = refusal(role(**own))
    for release in ("gpu-operator-1702604969", "gpu-operator"):
        assert f"{release} in namespace {gpu_operator}" in message


# The lab's plugin on the real node


EXPORTER = """
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {matchLabels: {app: exporter}}
  template:
    metadata: {labels: {app: exporter}}
    spec:
      nodeSelector: {{ .Values.nodeSelector | toJson }}
      terminationGracePeriodSeconds: 0
      containers:
        - {name: exporter, image: "busybox:1.36", command: [sleep, infinity]}
"""


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Variables for an exporter whose chart is as small as can be."""
    chart = tmp_path_factory.mktemp("exporter")
    (chart / "templates").mkdir()
    (chart / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": "exporter", "version": "1.0.0"}))
    (chart / "templates/daemonset.yaml").write_text(EXPORTER)
    return {
        "dcgm_exporter": True,
        "dcgm_exporter_chart_repo_url": "",
        "dcgm_exporter_chart_ref": str(chart),
        "dcgm_exporter_version": "1.0.0",
    }


@pytest.fixture(scope="module")
def installed(role, exporter) -> PlaybookRun:
    """The role's own plugin on the real node, proved by a pod with a GPU, and an exporter."""
    return role(smoke="each", **exporter).checked()


@pytest.fixture
def plugin(installed, kubectl: Kubectl) -> None:
    """The installed plugin once it has got over the test before."""
    wait_until("all GPUs", lambda: gpus(kubectl) == ("2", "2"))


@pytest.mark.usefixtures("plugin")
def test_installed_plugin_gives_gpus_and_a_second_run_changes_nothing(role, exporter, installed, kubectl, audit_log):
    assert report(installed)["nodes"][NODE] == {
        "expected": 2,
        "capacity": 2,
        "allocatable": 2,
        "free": 2,
        "resource": GPU,
    }
    assert kubectl.get("node", NODE)["metadata"]["labels"][PRESENT] == "true"
    assert kubectl.get("runtimeclass", "nvidia")["handler"] == "nvidia"
    assert kubectl.get(*DAEMONSET)["spec"]["template"]["spec"]["runtimeClassName"] == "nvidia"
    assert kubectl.items("pods", "-l", "kubegang.dev/smoke") == []
    before = audit_log.mark()
    assert role(**exporter).checked().changed == []
    for client in ("OpenAPI-Generator", "Helm"):
        # An access review is a question.
        written = {event["objectRef"]["resource"] for event in audit_log.writes(before, user_agent=client)}
        assert written <= {"selfsubjectaccessreviews"}


def gpu_pod(name: str, namespace: str, count: int) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "busybox:1.36",
        "command": ["sh", "-c", "ls /dev/nvidia[0-9]*; echo $NVIDIA_VISIBLE_DEVICES; sleep 1000"],
        "resources": {"limits": {GPU: count}},
    }
    spec = {"runtimeClassName": "nvidia", "terminationGracePeriodSeconds": 0, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


@pytest.mark.usefixtures("plugin")
def test_a_pod_gets_one_of_two_gpus_and_one_that_asks_for_three_waits(role, kubectl, namespace):
    kubectl.apply(gpu_pod("one", namespace, 1), gpu_pod("three", namespace, 3))
    kubectl("wait", "-n", namespace, "--for=condition=Ready", "pod/one", "--timeout=30s")
    device, visible = kubectl("logs", "-n", namespace, "one").split()
    assert device == f"/dev/nvidia{visible}"
    condition = kubectl.get("pod", "-n", namespace, "three")["status"]["conditions"][0]
    assert condition["reason"] == "Unschedulable"
    assert f"1 Insufficient {GPU}" in condition["message"]
    assert f"{NODE} (1)" in refusal(role(state="absent"))


@pytest.mark.usefixtures("plugin")
def test_unhealthy_gpu_is_found_until_it_is_well_again(verify, kubectl):
    [pod] = kubectl.items("pods", "-n", "nvidia-device-plugin", "-l", "app!=exporter")
    inside = ("exec", "-n", "nvidia-device-plugin", pod["metadata"]["name"], "--", "sh", "-c")
    marker = "/run/gpu-plugin-double/unhealthy"
    kubectl(*inside, f"mkdir -p {marker} && touch {marker}/1")
    try:
        wait_until("an unhealthy GPU", lambda: gpus(kubectl) == ("2", "1"))
        [finding] = verify()
        assert finding["text"].startswith(
            f"node {NODE}: expected 2 {GPU}, found capacity 2, allocatable 1; 1 unhealthy"
        )
    finally:
        kubectl(*inside, f"rm {marker}/1")
    wait_until("a healthy GPU", lambda: gpus(kubectl) == ("2", "2"))
    assert verify(smoke="sample") == []


@pytest.mark.usefixtures("plugin")
def test_taint_that_keeps_the_plugin_away_is_found_with_what_it_costs(verify, kubectl):
    kubectl("taint", "node", NODE, TAINT)
    try:
        wait_until("no plugin", lambda: gpus(kubectl) == ("2", "0"))
        found = {each["id"]: each for each in verify()}
        assert found.keys() == {"plugin-reach", "gpu-count"}
        assert found["plugin-reach"]["object"] == f"node {NODE}"
        assert TAINT in found["plugin-reach"]["found"]
        assert found["gpu-count"]["found"] == "capacity 2, allocatable 0"
        assert "plugin is gone" in found["gpu-count"]["remedy"]
    finally:
        kubectl("taint", "node", NODE, f"{TAINT}-")


# Each of these configures the plugin anew, so that nothing has to be restored between them.


@pytest.mark.usefixtures("installed")
def test_plugin_without_the_nvidia_runtime_is_named_with_its_reason(role, kubectl):
    run = role(runtime_class="", wait_timeout=15)
    assert run.returncode != 0
    [finding] = [each for each in report(run)["findings"] if each["id"] == "plugin-pod"]
    assert finding["object"].startswith("pod nvidia-device-plugin/nvidia-device-plugin-")
    assert "exit code 1: NVML could not be loaded" in finding["found"]
    assert "RuntimeClass" in finding["remedy"]
    # No exporter was asked for either.
    assert kubectl.get(*DAEMONSET[:-1], "nvidia-device-plugin-dcgm-exporter") is None


@pytest.mark.usefixtures("installed")
def test_runtime_class_whose_handler_no_node_has_is_named(role, kubectl):
    run = role(runtime_class="absent", runtime_handler="absent", wait_timeout=15)
    assert run.returncode != 0
    [finding] = [each for each in report(run)["findings"] if each["id"] == "plugin-pod"]
    assert 'no runtime for "absent" is configured' in finding["found"]
    assert "container runtime on the node has its handler" in finding["remedy"]
    assert "handler nvidia, which cannot be changed" in refusal(role(runtime_handler="other"))
    kubectl("delete", "runtimeclass", "absent")


@pytest.mark.usefixtures("installed")
def test_shared_gpus_are_advertised_under_their_own_name(role, kubectl):
    run = role(sharing="time-slicing", replicas=4, rename_shared=True, smoke="sample").checked()
    assert report(run)["gpu_resources"][f"{GPU}.shared"] == 8
    assert gpus(kubectl, f"{GPU}.shared") == ("8", "8")
    # The variables say whole GPUs again, the cluster does not yet.
    found = {each["id"] for each in report(role(tasks_from="verify"))["findings"]}
    assert found == {"gpu-resource", "gpu-count"}


@pytest.mark.usefixtures("installed")
def test_removal_takes_what_the_role_made_and_nothing_else(role, kubectl, simulate):
    simulate(simulated_node("gpu-a", 8))
    removed = role(state="absent", remove_namespace=True).checked()
    assert removed.changed
    assert kubectl.get("runtimeclass", "nvidia") is None
    assert kubectl.get("namespace", "nvidia-device-plugin") is None
    assert PRESENT not in kubectl.get("node", NODE)["metadata"]["labels"]
    assert kubectl.get("node", "gpu-a")["metadata"]["labels"][PRESENT] == "true"
    assert role(state="absent", remove_namespace=True).checked().changed == []


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A manifest as bare as NVIDIA's static one: image, tolerations and runtime class are the role's."""
    container = {
        "name": "plugin",
        "image": "nobody/knows:it",
        "env": [{"name": "RUNTIME_CLASS", "value": "nvidia"}],
        "volumeMounts": [{"name": "plugins", "mountPath": "/var/lib/kubelet/device-plugins"}],
    }
    labels = {"name": "nvidia-device-plugin-ds"}
    volume = {"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}
    daemonset = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "nvidia-device-plugin-daemonset", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], "volumes": [volume]}},
        },
    }
    path = tmp_path / "manifest.yml"
    path.write_text(yaml.safe_dump(daemonset))
    return path


def test_manifest_is_installed_verified_and_removed(role, kubectl, manifest):
    ours = {
        "source": "manifest",
        "manifest": str(manifest),
        "namespace": "kube-system",
        "sharing": "time-slicing",
    }
    role(state="absent").checked()
    # The double knows only whole GPUs here: what is looked at is how its pods are made.
    ours |= {"gpus": {NODE: 1}, "label_nodes": [NODE]}
    role(**ours).checked()
    assert role(**ours).checked().changed == []
    spec = kubectl.get("-n", "kube-system", "daemonset", "nvidia-device-plugin-daemonset")["spec"]["template"]["spec"]
    assert spec["runtimeClassName"] == "nvidia"
    text = kubectl.get("-n", "kube-system", "configmap", "nvidia-device-plugin-daemonset-config")["data"]["config.yaml"]
    assert yaml.safe_load(text)["sharing"]["timeSlicing"]["resources"] == [{"name": GPU, "replicas": 2}]
    role(**ours, state="absent").checked()
    assert kubectl.get("-n", "kube-system", "daemonset", "nvidia-device-plugin-daemonset") is None
