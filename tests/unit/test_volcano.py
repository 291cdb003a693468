# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Task options become the manifests that Volcano's API wants."""

from __future__ import annotations

import pytest
from ansible_collections.kubegang.core.plugins.module_utils._cluster import JOB, QUEUE
from ansible_collections.kubegang.core.plugins.module_utils._errors import GangError
from ansible_collections.kubegang.core.plugins.module_utils._manifest import camel, from_definition, typed
from ansible_collections.kubegang.core.plugins.module_utils._volcano import (
    command,
    job,
    job_doubts,
    job_phase,
    queue,
    queue_state,
)

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "x:1"}]}}
TASK = dict.fromkeys(("name", "replicas", "min_available", "max_retry", "policies", "depends_on", "template"))
JOB_OPTIONS = dict.fromkeys(
    (
        *("name", "definition", "queue", "min_available", "tasks", "policies", "plugins", "priority_class_name"),
        *("max_retry", "ttl_seconds_after_finished", "volumes", "network_topology", "labels", "annotations"),
    )
)


def options(**given):
    given["tasks"] = [{**TASK, "name": "w", "template": TEMPLATE, **task} for task in given.get("tasks", [{}])]
    return {**JOB_OPTIONS, "name": "train", "namespace": "default", "scheduler_name": "volcano", **given}


def defined(spec, **metadata):
    definition = {"metadata": {"name": "train", **metadata}, "spec": spec}
    return {**JOB_OPTIONS, "namespace": "default", "definition": definition}


def test_options_become_the_fields_of_the_api():
    built = job(
        options(
            queue="research",
            tasks=[
                {"replicas": 4, "depends_on": ["ps"], "policies": [{"event": "PodFailed", "action": "RestartTask"}]}
            ],
            policies=[{"exit_code": 3, "action": "AbortJob", "event": None}],
            network_topology={"mode": "hard", "highest_tier_allowed": 2},
            volumes=[{"mount_path": "/data", "volume_claim_name": "data", "volume_claim": None}],
            ttl_seconds_after_finished=60,
            labels={"team": 7},
        )
    )
    assert built == {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default", "labels": {"team": "7"}},
        "spec": {
            "schedulerName": "volcano",
            "queue": "research",
            "minAvailable": 4,
            "ttlSecondsAfterFinished": 60,
            "policies": [{"exitCode": 3, "action": "AbortJob"}],
            "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
            "volumes": [{"mountPath": "/data", "volumeClaimName": "data"}],
            "tasks": [
                {
                    "name": "w",
                    "replicas": 4,
                    "minAvailable": 4,
                    "dependsOn": {"name": ["ps"]},
                    "policies": [{"event": "PodFailed", "action": "RestartTask"}],
                    "template": TEMPLATE,
                }
            ],
        },
    }


@pytest.mark.parametrize(
    ("tasks", "minimum"),
    [
        ([{"replicas": 4}], 4),
        ([{"replicas": 4, "minAvailable": 3}, {"replicas": 2}], 5),
        ([{"replicas": 8, "partitionPolicy": {"totalPartitions": 4, "partitionSize": 2, "minPartitions": 3}}], 6),
    ],
)
def test_without_a_minimum_the_whole_gang_is_needed(tasks, minimum):
    assert job(defined({"tasks": tasks}))["spec"]["minAvailable"] == minimum


def test_a_definition_may_hold_numbers_as_text_and_text_as_numbers():
    built = job(
        defined(
            {"minAvailable": "2", "tasks": [{"name": "w", "replicas": "2", "template": TEMPLATE}]},
            annotations={"volcano.sh/preemptable": True, "year": 2024},
        )
    )
    assert built["spec"]["minAvailable"] == 2
    assert built["spec"]["tasks"][0]["replicas"] == 2
    assert built["metadata"]["annotations"] == {"volcano.sh/preemptable": "true", "year": "2024"}


def test_arguments_and_environment_of_a_container_are_text_whatever_they_look_like():
    container = {"command": ["serve", 2], "args": ["--port", 8100, "--eager", True], "env": [{"name": "N", "value": 8}]}
    assert typed({"containers": [container]}) == {
        "containers": [
            {
                "command": ["serve", "2"],
                "args": ["--port", "8100", "--eager", "true"],
                "env": [{"name": "N", "value": "8"}],
            }
        ]
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [("replicas", "four"), ("replicas", True), ("replicas", 1.5), ("defaultMode", "0o400"), ("hostNetwork", "maybe")],
)
def test_a_value_that_cannot_be_of_the_fields_type_is_refused_with_its_path(field, value):
    with pytest.raises(GangError, match=rf"spec\.tasks\[0\]\.{field}: "):
        typed({"spec": {"tasks": [{field: value}]}})


def test_amounts_are_sent_as_text_because_the_api_has_no_fractions():
    assert typed({"limits": {"cpu": 0.5, "nvidia.com/gpu": 8}}) == {"limits": {"cpu": "0.5", "nvidia.com/gpu": "8"}}


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"kind": "CronJob", "metadata": {"name": "x"}, "spec": {}}, "definition.kind: 'CronJob'.*allowed: Job"),
        ({"apiVersion": "batch/v1", "metadata": {"name": "x"}, "spec": {}}, "definition.apiVersion: 'batch/v1'"),
        ({"metadata": {"name": "y"}, "spec": {}}, "definition.metadata.name: 'y'.*option name: 'x'"),
        ({"metadata": {"name": "x"}}, "definition.spec"),
    ],
)
def test_a_definition_of_something_else_is_refused(definition, words):
    with pytest.raises(GangError, match=words):
        from_definition(JOB, definition, "x", "default")


@pytest.mark.parametrize("name", ["Train", "a_b", "-a", "", "x" * 254])
def test_a_name_that_kubernetes_cannot_have_is_refused(name):
    with pytest.raises(GangError, match="option name"):
        job(options(name=name))


@pytest.mark.parametrize("tasks", [[], "w", ["w"]])
def test_a_gang_without_tasks_is_refused(tasks):
    with pytest.raises(GangError, match="option tasks"):
        job(defined({"tasks": tasks}))


def test_a_minimum_below_its_tasks_minimums_is_doubted():
    built = job(defined({"minAvailable": 4, "tasks": [{"name": "a", "replicas": 5, "minAvailable": 4}, {"name": "b"}]}))
    assert ["below the sum 5" in doubt for doubt in job_doubts(built)] == [True]


def test_a_gang_that_waits_for_a_task_that_waits_for_the_gang_is_doubted():
    tasks = [{"name": "worker", "replicas": 8}, {"name": "master", "replicas": 1, "dependsOn": {"name": ["worker"]}}]
    (doubt,) = job_doubts(job(defined({"minAvailable": 9, "tasks": tasks})))
    assert "master dependsOn worker" in doubt
    assert "8 of 9 pods" in doubt


def test_dependent_tasks_are_fine_where_the_gang_can_do_without_them():
    tasks = [
        {"name": "w", "replicas": 8},
        {"name": "m", "replicas": 1, "minAvailable": 0, "dependsOn": {"name": ["w"]}},
    ]
    assert job_doubts(job(defined({"minAvailable": 8, "tasks": tasks}))) == []


def test_a_queue_has_only_the_fields_that_were_given():
    given = {"name": "q", "weight": 4, "capability": {"nvidia.com/gpu": 16}, "guarantee": {"cpu": 2}}
    rest = dict.fromkeys(("deserved", "reclaimable", "parent", "priority"))
    built = queue({**rest, **given})
    assert built["metadata"] == {"name": "q"}
    assert built["spec"] == {
        "weight": 4,
        "capability": {"nvidia.com/gpu": "16"},
        "guarantee": {"resource": {"cpu": "2"}},
    }


def test_a_command_is_owned_by_its_target_and_dies_with_it():
    live = {"metadata": {"name": "q", "uid": "u1"}}
    made = command(QUEUE, live, "CloseQueue", "default", "ab12")
    assert made["metadata"]["name"] == "q-closequeue-ab12"
    assert made["metadata"]["ownerReferences"] == [made["target"]]
    assert made["target"]["uid"] == "u1"


def test_options_are_spelled_as_the_api_does():
    assert camel({"ttl_seconds_after_finished": 1, "name": "x"}) == {"ttlSecondsAfterFinished": 1, "name": "x"}


@pytest.mark.parametrize("live", [{}, {"status": None}, {"status": {"state": None}}])
def test_an_object_that_no_controller_has_seen_has_no_state(live):
    assert job_phase(live) == ""
    assert queue_state(live) == ""
