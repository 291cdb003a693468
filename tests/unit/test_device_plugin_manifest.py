# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a static manifest before it is applied."""

from __future__ import annotations

from copy import deepcopy

from ansible_collections.kubegang.core.plugins.filter.device_plugin_manifest import device_plugin_manifest

TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
WANTED = {
    "image": "registry/plugin:v1",
    "pull_policy": "IfNotPresent",
    "pull_secrets": [],
    "runtime_class": "nvidia",
    "tolerations": TOLERATIONS,
    "mig_strategy": "none",
    "configuration": "",
}
ACCOUNT = {"kind": "ServiceAccount", "metadata": {"name": "plugin", "namespace": "kube-system"}}


def manifest(**spec):
    container = {"name": "ctr", "image": "upstream:v0", "env": [{"name": "MIG_STRATEGY", "value": "single"}]}
    return {
        "kind": "DaemonSet",
        "metadata": {"name": "plugin", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": [container], **spec}}},
    }


def pod_spec(objects):
    [daemonset] = [each for each in objects if each["kind"] == "DaemonSet"]
    return daemonset["spec"]["template"]["spec"]


def test_pods_get_image_runtime_class_and_tolerations():
    before = manifest()
    kept = deepcopy(before)
    spec = pod_spec(device_plugin_manifest([before], WANTED))
    assert before == kept
    assert spec["runtimeClassName"] == "nvidia"
    assert spec["tolerations"] == TOLERATIONS
    assert "imagePullSecrets" not in spec
    [container] = spec["containers"]
    assert (container["image"], container["imagePullPolicy"]) == ("registry/plugin:v1", "IfNotPresent")
    assert container["env"] == [{"name": "MIG_STRATEGY", "value": "none"}]


def test_default_runtime_and_a_private_registry():
    wanted = {**WANTED, "runtime_class": "", "pull_secrets": [{"name": "key"}]}
    spec = pod_spec(device_plugin_manifest([manifest()], wanted))
    assert "runtimeClassName" not in spec
    assert spec["imagePullSecrets"] == [{"name": "key"}]


def test_pods_stay_off_nodes_without_gpus_unless_the_manifest_chooses_itself():
    required = pod_spec(device_plugin_manifest([manifest()], WANTED))["affinity"]["nodeAffinity"]
    [terms] = required.values()
    assert "nvidia.com/gpu.present" in {term["matchExpressions"][0]["key"] for term in terms["nodeSelectorTerms"]}
    own = manifest(nodeSelector={"accelerator": "nvidia"})
    assert "affinity" not in pod_spec(device_plugin_manifest([own], WANTED))


def test_configuration_is_mounted_and_another_one_makes_new_pods():
    objects = device_plugin_manifest([ACCOUNT, manifest()], {**WANTED, "configuration": "version: v1"})
    assert [each["kind"] for each in objects] == ["ConfigMap", "ServiceAccount", "DaemonSet"]
    assert objects[0]["data"] == {"config.yaml": "version: v1"}
    assert objects[0]["metadata"]["namespace"] == "kube-system"
    spec = pod_spec(objects)
    [volume], [container] = spec["volumes"], spec["containers"]
    assert volume["configMap"]["name"] == objects[0]["metadata"]["name"]
    [mount] = container["volumeMounts"]
    assert {"name": "CONFIG_FILE", "value": f"{mount['mountPath']}/config.yaml"} in container["env"]
    marks = {
        text: device_plugin_manifest([manifest()], {**WANTED, "configuration": text})[1]["spec"]["template"]["metadata"]
        for text in ("version: v1", "version: v2")
    }
    assert marks["version: v1"] != marks["version: v2"]


def test_every_object_is_marked_as_the_role_s_own():
    objects = device_plugin_manifest([ACCOUNT, manifest()], {**WANTED, "configuration": "version: v1"})
    assert {each["metadata"]["labels"]["app.kubernetes.io/managed-by"] for each in objects} == {"kubegang"}
