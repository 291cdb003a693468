# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Task options become the LeaderWorkerSet that the API wants; what LWS could make no groups of is refused."""

from __future__ import annotations

import pytest
from ansible_collections.kubegang.core.plugins.module_utils._errors import OptionError
from ansible_collections.kubegang.core.plugins.module_utils._lws import doubts, leader_worker_set
from ansible_collections.kubegang.core.plugins.modules.leader_worker_set import OPERATION

OPTIONS = {name: spec.get("default") for name, spec in OPERATION.options.items()}


def template(**spec):
    return {"spec": {"containers": [{"name": "main", "image": "x:1"}], **spec}}


def options(**given):
    return {**OPTIONS, "name": "serve", "worker_template": template(), **given}


def defined(group, *, spec=None, metadata=None, **given):
    definition = {
        "metadata": {"name": "serve", **(metadata or {})},
        "spec": {"leaderWorkerTemplate": group, **(spec or {})},
    }
    return {**OPTIONS, "definition": definition, **given}


def scheduled(**spec):
    return template(**spec, schedulerName="volcano")


def test_options_become_the_fields_of_the_api():
    built = leader_worker_set(
        options(
            replicas=4,
            size=3,
            leader_template=template(),
            restart_policy="RecreateGroupAfterStart",
            startup_policy="LeaderReady",
            rollout={"partition": 1, "max_unavailable": "25%", "max_surge": "2"},
            sub_group_policy={"size": 3, "type": "LeaderWorker"},
            subdomain_policy="UniquePerReplica",
            exclusive_topology="topology.kubegang.dev/rack",
            queue="online",
            labels={"team": 7},
            annotations={"volcano.sh/preemptable": True},
            volume_claim_templates=[{"metadata": {"name": "data"}}],
        )
    )
    assert built == {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "serve",
            "namespace": "default",
            "labels": {"team": "7"},
            "annotations": {
                "volcano.sh/preemptable": "true",
                "scheduling.volcano.sh/queue-name": "online",
                "leaderworkerset.sigs.k8s.io/exclusive-topology": "topology.kubegang.dev/rack",
            },
        },
        "spec": {
            "replicas": 4,
            "startupPolicy": "LeaderReady",
            "leaderWorkerTemplate": {
                "size": 3,
                "restartPolicy": "RecreateGroupAfterStart",
                "leaderTemplate": scheduled(),
                "workerTemplate": scheduled(),
                "subGroupPolicy": {"subGroupSize": 3, "subGroupPolicyType": "LeaderWorker"},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
            },
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"partition": 1, "maxUnavailable": "25%", "maxSurge": 2},
            },
            "networkConfig": {"subdomainPolicy": "UniquePerReplica"},
        },
    }


def test_what_is_not_given_is_left_to_lws():
    assert leader_worker_set(options()) == {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": "default"},
        "spec": {"leaderWorkerTemplate": {"workerTemplate": scheduled()}},
    }


def test_the_scheduler_goes_into_both_templates_and_the_queue_onto_the_object():
    metadata = {"annotations": {"own": "kept"}}
    group = {"leaderTemplate": template(), "workerTemplate": scheduled()}
    built = leader_worker_set(defined(group, metadata=metadata, queue="online"))
    assert built["spec"]["leaderWorkerTemplate"] == {"leaderTemplate": scheduled(), "workerTemplate": scheduled()}
    assert built["metadata"]["annotations"] == {"own": "kept", "scheduling.volcano.sh/queue-name": "online"}


def test_without_a_scheduler_templates_are_left_alone():
    group = {"leaderTemplate": template(schedulerName="other"), "workerTemplate": template()}
    assert leader_worker_set(defined(group, scheduler_name=""))["spec"]["leaderWorkerTemplate"] == group


def test_the_outdated_word_for_no_restart_is_what_the_webhook_stores():
    built = leader_worker_set(options(restart_policy="Default"))
    assert built["spec"]["leaderWorkerTemplate"]["restartPolicy"] == "None"


def test_numbers_that_templating_turned_into_text_are_numbers():
    built = leader_worker_set(
        defined(
            {"size": "2", "workerTemplate": template()},
            spec={
                "replicas": "3",
                "rolloutStrategy": {"rollingUpdateConfiguration": {"partition": "1", "maxUnavailable": "2"}},
            },
        )
    )
    assert built["spec"]["replicas"] == 3
    assert built["spec"]["leaderWorkerTemplate"]["size"] == 2
    assert built["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"] == {"partition": 1, "maxUnavailable": 2}


REFUSED = [
    ({"name": "a" * 51}, ["name", "at most 50", "it has 51"]),
    ({"name": "a" * 50, "replicas": 11}, ["name", "at most 49", "it has 50"]),
    ({"name": "a" * 50, "replicas": 10, "rollout": {"max_surge": "5%"}}, ["name", "at most 49"]),
    ({"name": "1serve"}, ["name", "beginning with a letter"]),
    ({"name": "serve.a"}, ["name", "letters, digits and '-'"]),
    ({"replicas": -1}, ["replicas", "-1", "0 or more"]),
    ({"size": 0}, ["size", "0", "1 or more"]),
    ({"replicas": 2**30, "size": 2}, ["replicas", "at most 1073741823 groups of size 2"]),
    ({"size": 10, "sub_group_policy": {"size": 4, "type": "LeaderWorker"}}, ["subGroupSize", "4", "size is 10"]),
    ({"size": 8, "sub_group_policy": {"size": 4, "type": "LeaderExcluded"}}, ["subGroupSize", "size - 1", "size is 8"]),
    ({"size": 2, "sub_group_policy": {"size": 3, "type": "LeaderWorker"}}, ["subGroupSize", "3", "1 to", "2"]),
    ({"size": 2, "sub_group_policy": {"size": 0, "type": "LeaderWorker"}}, ["subGroupSize", "0", "1 to", "2"]),
    ({"rollout": {"max_unavailable": "0"}}, ["rollout", "max_unavailable", "1 or more of 1"]),
    ({"replicas": 3, "rollout": {"max_unavailable": "30%"}}, ["rollout", "1 or more of 3"]),
    ({"rollout": {"max_surge": "some"}}, ["maxSurge", "some", "25%"]),
    ({"worker_template": template(schedulerName="other")}, ["workerTemplate", "other", "volcano", "scheduler_name"]),
    ({"leader_template": template(schedulerName="other")}, ["leaderTemplate", "other", "volcano"]),
]


@pytest.mark.parametrize(("given", "words"), REFUSED, ids=lambda value: str(value)[:50])
def test_what_lws_could_make_no_groups_of_is_refused_with_its_option(given, words):
    with pytest.raises(OptionError) as refused:
        leader_worker_set(options(**given))
    assert [word for word in words if word not in refused.value.message] == []


def test_a_definition_without_a_worker_template_is_refused():
    with pytest.raises(OptionError, match="worker_template"):
        leader_worker_set(defined({"size": 2}))


ACCEPTED = [
    {"name": "a" * 50},
    {"name": "a" * 45, "replicas": 1000},
    {"replicas": 0, "rollout": {"max_unavailable": "0"}},
    {"rollout": {"max_unavailable": "0", "max_surge": "1%"}},
    {"size": 9, "sub_group_policy": {"size": 4, "type": "LeaderExcluded"}},
    {"size": 9, "sub_group_policy": {"size": 4, "type": "LeaderWorker"}},
    {"size": 8, "sub_group_policy": {"size": 4, "type": "LeaderWorker"}},
]


@pytest.mark.parametrize("given", ACCEPTED, ids=str)
def test_the_limits_themselves_are_accepted(given):
    leader_worker_set(options(**given))


DOUBTS = [
    ({"startup_policy": "LeaderReady", "size": 4}, ["LeaderReady", "from 4 to 1"]),
    ({"exclusive_topology": "rack", "size": 4}, ["exclusive_topology", "LeaderReady"]),
    ({"worker_template": template(priorityClassName="high")}, ["priorityClassName high", "PodGroup"]),
    (
        {"leader_template": template(priorityClassName="high"), "scheduler_name": ""},
        ["differ in priorityClassName", "leaderTemplate high", "workerTemplate none"],
    ),
    (
        {"leader_template": template(schedulerName="other"), "scheduler_name": ""},
        ["differ in schedulerName", "leaderTemplate other"],
    ),
    (
        {"worker_template": {**template(), "metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "x"}}}},
        ["workerTemplate.metadata", "no effect", "option queue"],
    ),
]


@pytest.mark.parametrize(("given", "words"), DOUBTS, ids=lambda value: str(value)[:50])
def test_what_lws_accepts_and_users_hardly_want_is_said(given, words):
    params = options(**given)
    (told,) = doubts(leader_worker_set(params), params["scheduler_name"])
    assert [word for word in words if word not in told] == []


@pytest.mark.parametrize(
    "given", [{}, {"startup_policy": "LeaderReady"}, {"scheduler_name": ""}, {"exclusive_topology": "rack"}], ids=str
)
def test_there_is_no_doubt_about_the_usual(given):
    params = options(**given)
    assert doubts(leader_worker_set(params), params["scheduler_name"]) == []
