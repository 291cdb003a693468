# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When an object of a release counts as ready."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.kubegang.core.plugins.filter.unready import unready

WANTED_DEPLOYMENT = {"kind": "Deployment", "metadata": {"name": "volcano-scheduler", "namespace": "volcano-system"}}
WANTED_CRD = {"kind": "CustomResourceDefinition", "metadata": {"name": "jobs.batch.volcano.sh"}}


def deployment(generation=2, spec_replicas=2, **status):
    metadata = {**WANTED_DEPLOYMENT["metadata"], "generation": generation}
    ready = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
    return {
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": spec_replicas},
        "status": {**ready, **status},
    }


def daemon_set(**status):
    whole = {"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberReady": 3}
    metadata = {"name": "plugin", "namespace": "gpu", "generation": 2}
    return {"kind": "DaemonSet", "metadata": metadata, "status": {**whole, **status}}


def definition(**conditions):
    entries = [{"type": name, "status": status, "message": f"about {name}"} for name, status in conditions.items()]
    return {**WANTED_CRD, "status": {"conditions": entries}}


@pytest.mark.parametrize(
    "ready",
    [
        deployment(),
        deployment(spec_replicas=0, replicas=0, updatedReplicas=0, availableReplicas=0),
    ],
)
def test_deployment_of_the_current_generation_is_ready(ready):
    assert unready([ready], [WANTED_DEPLOYMENT]) == []


@pytest.mark.parametrize(
    ("live", "reason"),
    [
        (deployment(generation=3), "generation 3 not yet seen"),
        (deployment(updatedReplicas=1), "1 of 2 replicas updated"),
        (deployment(availableReplicas=0), "0 of 2 replicas available"),
        (deployment(replicas=3), "1 replicas of an older generation are left"),
        ({**deployment(), "status": {}}, "generation 2 not yet seen"),
        ({**deployment(generation=0), "status": {}}, "0 of 2 replicas updated"),
    ],
)
def test_deployment_that_still_rolls_out_says_what_it_lacks(live, reason):
    [text] = unready([live], [WANTED_DEPLOYMENT])
    assert text.startswith("Deployment volcano-system/volcano-scheduler: ")
    assert reason in text


@pytest.mark.parametrize(
    ("live", "reasons"),
    [
        (daemon_set(), []),
        (daemon_set(observedGeneration=1), ["generation 2 not yet seen by its controller"]),
        (daemon_set(updatedNumberScheduled=2), ["2 of 3 pods updated"]),
        (daemon_set(numberReady=0), ["0 of 3 pods ready"]),
    ],
)
def test_daemon_set_is_ready_with_a_ready_pod_of_the_current_generation_everywhere(live, reasons):
    assert unready([live], [live]) == [f"DaemonSet gpu/plugin: {reason}" for reason in reasons]


def test_established_definition_is_ready():
    assert unready([definition(Established="True", NamesAccepted="True")], [WANTED_CRD]) == []


@pytest.mark.parametrize(
    ("live", "reason"),
    [
        (
            definition(Established="False", NamesAccepted="False"),
            "not Established: about Established: about NamesAccepted",
        ),
        (WANTED_CRD, "not Established"),
    ],
)
def test_definition_that_is_not_established_says_why(live, reason):
    assert unready([live], [WANTED_CRD]) == [f"CustomResourceDefinition jobs.batch.volcano.sh: {reason}"]


@pytest.mark.parametrize("kind", ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"])
def test_webhook_is_ready_when_it_knows_its_certificate_authority(kind):
    wanted = {"kind": kind, "metadata": {"name": "queues"}}
    hooks = [{"name": "queue.volcano.sh", "clientConfig": {"caBundle": "Q0E="}}]
    assert unready([{**wanted, "webhooks": hooks}], [wanted]) == []
    hooks.append({"name": "job.volcano.sh", "clientConfig": {}})
    assert unready([{**wanted, "webhooks": hooks}], [wanted]) == [f"{kind} queues: no caBundle for job.volcano.sh"]


def test_missing_object_is_named():
    assert unready([deployment()], [WANTED_DEPLOYMENT, WANTED_CRD]) == [
        "CustomResourceDefinition jobs.batch.volcano.sh: not found"
    ]


def test_object_of_the_same_name_in_another_namespace_does_not_count():
    stranger = deployment()
    stranger["metadata"]["namespace"] = "elsewhere"
    assert unready([stranger], [WANTED_DEPLOYMENT]) == ["Deployment volcano-system/volcano-scheduler: not found"]


def test_kind_without_a_rule_is_refused():
    with pytest.raises(AnsibleFilterError, match="Service"):
        unready([], [{"kind": "Service", "metadata": {"name": "x"}}])
