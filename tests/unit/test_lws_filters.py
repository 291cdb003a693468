# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the role finds the LeaderWorkerSet controller whatever it is called, and what it makes of its configuration."""

from __future__ import annotations

from copy import deepcopy

import pytest
import yaml
from ansible_collections.kubegang.core.plugins.filter.lws_configuration import lws_configuration
from ansible_collections.kubegang.core.plugins.filter.lws_controller import lws_controller
from ansible_collections.kubegang.core.plugins.filter.lws_manifest import lws_manifest

CONFIG = "apiVersion: config.lws.x-k8s.io/v1alpha1\nkind: Configuration\nclientConnection:\n  qps: 7\n"
GANG = {"gangSchedulingManagement": {"schedulerProvider": "volcano"}}
SERVICE = {"kind": "Service", "metadata": {"name": "hook"}, "spec": {"selector": {"app": "lws"}}}
BYSTANDER = {
    "kind": "Deployment",
    "metadata": {"name": "bystander"},
    "spec": {"template": {"metadata": {"labels": {"app": "other"}}, "spec": {"containers": [{}]}}},
}


def config_map(**metadata):
    return {"kind": "ConfigMap", "metadata": {"name": "conf", **metadata}, "data": {"lws.yaml": CONFIG}}


def deployment(args=("--config=/lws.yaml",), mount=None, source=None, image="registry/lws:v0.9.0", **metadata):
    mount = mount or {"mountPath": "/lws.yaml", "subPath": "lws.yaml"}
    source = source or {"configMap": {"name": "conf"}}
    container = {"args": list(args), "image": image, "volumeMounts": [{"name": "volume", **mount}]}
    pod = {
        "serviceAccountName": "keeper",
        "containers": [{"image": "proxy"}, container],
        "volumes": [{"name": "volume", **source}],
    }
    template = {"metadata": {"labels": {"app": "lws", "more": "labels"}}, "spec": pod}
    return {"kind": "Deployment", "metadata": {"name": "controller", **metadata}, "spec": {"template": template}}


def found(*objects):
    return lws_controller([BYSTANDER, SERVICE, *objects], "hook")


@pytest.mark.parametrize(
    "controller",
    [
        deployment(),
        deployment(args=["--leader-elect", "--config", "/lws.yaml"]),
        deployment(args=["--config=/etc/lws/lws.yaml"], mount={"mountPath": "/etc/lws"}),
        deployment(args=["--config=/etc/lws/lws.yaml"], mount={"mountPath": "/etc/lws/"}),
        deployment(
            args=["--config=/etc/lws/c.yaml"],
            mount={"mountPath": "/etc/lws"},
            source={"configMap": {"name": "conf", "items": [{"key": "lws.yaml", "path": "c.yaml"}]}},
        ),
    ],
)
def test_controller_and_its_configuration_are_found_through_the_service(controller):
    result = found(controller, config_map())
    assert result["deployment"] == controller
    assert result["service_account"] == "keeper"
    assert result["version"] == "0.9.0"
    assert (result["config_map"]["metadata"]["name"], result["config_key"]) == ("conf", "lws.yaml")
    assert result["owner"] == ""


@pytest.mark.parametrize(
    "objects",
    [
        [deployment(args=[]), config_map()],
        [deployment(source={"secret": {"secretName": "conf"}}), config_map()],
        [deployment(mount={"mountPath": "/elsewhere"}), config_map()],
        [deployment()],
    ],
)
def test_controller_without_a_config_map_is_found_without_one(objects):
    result = found(*objects)
    assert result["deployment"] == objects[0]
    assert result["config_map"] == {}


def test_service_without_pods_leads_nowhere():
    assert found(config_map()) == {}
    assert lws_controller([deployment()], "hook") == {}


@pytest.mark.parametrize("image", ["lws@sha256:0123", "lws", "lws:main", "registry:5000/lws"])
def test_image_without_a_version_tells_none(image):
    assert found(deployment(image=image))["version"] == ""


@pytest.mark.parametrize(
    ("metadata", "owner"),
    [
        (
            {"ownerReferences": [{"kind": "LeaderWorkerSetOperator", "name": "cluster"}]},
            "LeaderWorkerSetOperator cluster",
        ),
        (
            {"labels": {"olm.owner": "lws.v1.0.0", "olm.owner.kind": "ClusterServiceVersion"}},
            "ClusterServiceVersion lws.v1.0.0",
        ),
        ({"labels": {"operators.coreos.com/lws.openshift": ""}}, "operator lws.openshift"),
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, ""),
    ],
)
def test_operator_is_named_by_what_it_marks(metadata, owner):
    assert found(deployment(), config_map(**metadata))["owner"] == owner
    assert found(deployment(**metadata), config_map())["owner"] == owner


def test_gang_scheduler_is_put_in_and_the_rest_is_kept():
    assert yaml.safe_load(lws_configuration(CONFIG, "volcano")) == yaml.safe_load(CONFIG) | GANG


@pytest.mark.parametrize(
    ("text", "scheduler"), [(CONFIG, ""), (lws_configuration(CONFIG, "volcano"), "volcano"), ("# nothing", "")]
)
def test_configuration_that_is_right_is_left_alone(text, scheduler):
    assert lws_configuration(text, scheduler) is text


def test_gang_scheduler_is_taken_out_again():
    assert yaml.safe_load(lws_configuration(lws_configuration(CONFIG, "volcano"), "")) == yaml.safe_load(CONFIG)


MANIFEST = [{"kind": "Namespace", "metadata": {"name": "lws"}}, config_map(labels={"app": "lws"}), deployment()]


def test_manifest_gets_the_gang_scheduler_and_a_mark_on_every_object():
    before = deepcopy(MANIFEST)
    objects = lws_manifest(MANIFEST, "volcano")
    assert before == MANIFEST
    assert {each["metadata"]["labels"]["app.kubernetes.io/managed-by"] for each in objects} == {"kubegang"}
    assert objects[1]["metadata"]["labels"]["app"] == "lws"
    assert yaml.safe_load(objects[1]["data"]["lws.yaml"]) == yaml.safe_load(CONFIG) | GANG


def test_other_configuration_makes_other_pods_and_the_same_one_the_same():
    def pods(scheduler):
        return lws_manifest(MANIFEST, scheduler)[2]["spec"]["template"]["metadata"]["annotations"]

    assert pods("volcano") == pods("volcano") != pods("")


def test_config_maps_of_others_are_left_alone():
    other = {"kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "- list", "b": "kind: Configuration"}}
    assert lws_manifest([other], "volcano")[0]["data"] == other["data"]
