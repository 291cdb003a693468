# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task gives the same in the controller's worker and as a module, and is a module where the worker would differ."""

from __future__ import annotations

import json
import sys

import pytest

from tests.support.playbooks import OTHER_INTERPRETER

pytestmark = pytest.mark.usefixtures("volcano")

WRONG = [
    {"name": "Not_A_Name"},
    {"name": "q", "nonsense": 1},
    {"name": "q", "weight": "much"},
    {"name": "q", "state": "ajar"},
    {},
    {"name": "q", "context": "nowhere"},
]


@pytest.mark.parametrize("params", WRONG, ids=json.dumps)
def test_wrong_options_are_refused_in_the_same_words(run_module, params):
    here = run_module("volcano_queue", **params)
    there = run_module("volcano_queue", own_process=True, **params)
    assert here.failed
    assert words(here) == words(there)


def words(result):
    """The message without Ansible's own remark on which of its parts failed."""
    return result.msg.removeprefix("Task failed: ").removeprefix("Action failed: ").removeprefix("Module failed: ")


@pytest.mark.parametrize("own_process", [False, True])
def test_a_secret_is_nowhere_in_what_ansible_prints(ansible, own_process):
    interpreter = OTHER_INTERPRETER if own_process else sys.executable
    kubeconfig = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "x", "user": {"token": "sesame-in-file"}}],
    }
    tasks = [
        {"kubegang.core.gang_info": {"kubeconfig": kubeconfig, "host": "https://127.0.0.1:9/sesame-in-file"}},
        {"kubegang.core.gang_info": {"host": "https://127.0.0.1:9/sesame-as-key", "api_key": "sesame-as-key"}},
    ]
    for task in tasks:
        run = ansible.play([{**task, "vars": {"ansible_python_interpreter": interpreter}}])
        assert run.results[-1].failed
        assert "127.0.0.1" in run.output
        assert "sesame" not in run.output


def test_the_environment_of_a_task_counts(ansible):
    task = {"kubegang.core.gang_info": {}, "environment": {"K8S_AUTH_KUBECONFIG": "/nowhere/kubeconfig"}}
    (result,) = ansible.play([task]).results
    assert result.failed
    assert "/nowhere/kubeconfig" in result.msg


def test_a_task_may_be_asynchronous(ansible, namespace):
    task = {"kubegang.core.gang_info": {"namespace": namespace}, "async": 60, "poll": 1}
    result = ansible.play([task]).checked().results[-1]
    assert result["gangs"] == []
    assert result["finished"]


def test_a_task_may_be_delegated_to_this_machine(ansible, namespace):
    task = {"kubegang.core.gang_info": {"namespace": namespace}, "delegate_to": "localhost"}
    assert ansible.play([task]).checked().results[-1]["gangs"] == []
