# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contract of every state module: create, repeat, modify, repeat, delete, repeat, each first in check mode.

What stands on the server is told by kubectl, and which requests reached it by the API server's own audit log.
"""

from __future__ import annotations

from functools import partial

import pytest

POD = {
    "spec": {"containers": [{"name": "main", "image": "busybox:1.36", "resources": {"limits": {"nvidia.com/gpu": 2}}}]}
}
TOLERATING = {"spec": {**POD["spec"], "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}}

CREATE = {
    "volcano_queue": {"weight": 2, "capability": {"cpu": "1000m", "nvidia.com/gpu": 8}},
    "volcano_job": {
        "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
        "plugins": {"svc": []},
        "tasks": [{"name": "worker", "replicas": 2, "template": TOLERATING}],
    },
    # What the webhook stores is not what is sent: None for Default, and a good many defaults.
    "leader_worker_set": {
        "replicas": 2,
        "size": 2,
        "restart_policy": "Default",
        "rollout": {"max_unavailable": 1, "max_surge": "50%"},
        "exclusive_topology": "topology.kubegang.dev/rack",
        "worker_template": TOLERATING,
    },
}
# Only what may change on a live object.
MODIFY = {
    "volcano_queue": {"weight": 3, "capability": {"nvidia.com/gpu": 16}},
    "volcano_job": {**CREATE["volcano_job"], "tasks": [{"name": "worker", "replicas": 3, "template": TOLERATING}]},
    "leader_worker_set": {**CREATE["leader_worker_set"], "replicas": 1, "size": 3, "restart_policy": "None"},
}
RESOURCES = {
    "volcano_queue": "queues.scheduling.volcano.sh",
    "volcano_job": "jobs.batch.volcano.sh",
    "leader_worker_set": "leaderworkersets.leaderworkerset.x-k8s.io",
}


@pytest.fixture(params=CREATE)
def module(request):
    return request.param


@pytest.fixture
def identity(module, namespace):
    """What names the object: a queue has no namespace, so it borrows the unique name of the test's."""
    return {"name": namespace} if module == "volcano_queue" else {"name": "train", "namespace": namespace}


@pytest.fixture
def live(module, kubectl, identity):
    where = ["--namespace", identity["namespace"]] if "namespace" in identity else []

    def wanted_part():
        found = kubectl.get(RESOURCES[module], identity["name"], *where)
        return found and {"uid": found["metadata"]["uid"], "spec": found["spec"]}

    return wanted_part


@pytest.mark.usefixtures("volcano")
@pytest.mark.parametrize("own_process", [False, True], ids=["in the worker", "as a module"])
def test_each_step_is_predicted_by_check_mode_done_once_and_not_repeated(
    module, identity, live, run_module, audit_log, own_process
):
    run_module = partial(run_module, own_process=own_process)
    steps = [("create", CREATE[module]), ("modify", MODIFY[module]), ("delete", {"state": "absent"})]
    for step, options in steps:
        for first in (True, False):
            word = f"{step}{'' if first else ' again'}"
            before, mark = live(), audit_log.mark()
            predicted = run_module(module, check=True, **identity, **options)
            assert not predicted.failed, f"{word} in check mode: {predicted.msg}"
            assert predicted.changed is first, f"{word} in check mode"
            assert live() == before, f"{word} in check mode wrote"
            assert not audit_log.writes(mark), f"{word} in check mode sent a write"

            mark = audit_log.mark()
            done = run_module(module, **identity, **options)
            assert not done.failed, f"{word}: {done.msg}"
            assert done.changed is first, word
            assert bool(audit_log.writes(mark)) is first, f"{word}: writes that reached the server"
            assert (live() != before) is first, word
            assert done["diff"] == predicted["diff"], f"{word}: check mode predicted another difference"
