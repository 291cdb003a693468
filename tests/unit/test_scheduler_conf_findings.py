# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the linter says of a scheduler configuration."""

from __future__ import annotations

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.kubegang.core.plugins.filter.scheduler_conf_findings import scheduler_conf_findings

STOCK = yaml.safe_load("""
actions: enqueue, allocate, backfill
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false}
  - {name: conformance}
- plugins:
  - {name: overcommit}
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
  - {name: binpack}
""")


def conf(actions="enqueue, allocate, backfill", plugins=("gang", "predicates", "proportion")):
    """Build a configuration of one tier; a plugin is a name or a dict."""
    return {
        "actions": actions,
        "tiers": [{"plugins": [{"name": each} if isinstance(each, str) else each for each in plugins]}],
    }


def messages(level, *args, **kwargs):
    kwargs.setdefault("version", "1.15.1")
    return [each["message"] for each in scheduler_conf_findings(*args, **kwargs) if each["level"] == level]


@pytest.mark.parametrize("version", ["1.10.0", "v1.12.2", "1.15.1", "1.16.0-alpha.1"])
def test_stock_configuration_has_no_finding(version):
    assert scheduler_conf_findings(STOCK, version=version) == []


def test_actions_may_be_a_list():
    assert scheduler_conf_findings({**STOCK, "actions": ["enqueue", "allocate"]}, version="1.15.1") == []


ERRORS = [
    (conf(actions="enqueue, alocate"), "'alocate' does not exist"),
    (conf(actions="allocate, gangPreempt"), "'gangPreempt' does not exist"),
    (conf(actions="enqueue, backfill"), "'allocate' is missing"),
    (conf(actions=""), "'allocate' is missing"),
    ({}, "'allocate' is missing"),
    (conf(actions="allocate, gangpreempt, reclaim"), "'gangpreempt' and 'reclaim' exclude each other"),
    (conf(actions="allocate, gangreclaim, gangpreempt, preempt"), "exclude each other"),
    (conf(plugins=["gang", "binpacking"]), "plugin 'binpacking' does not exist"),
    (conf(plugins=["gang", "capacity", "proportion"]), "'capacity' and 'proportion' exclude each other"),
    (conf(plugins=["gang", {"name": "proportion", "enableHierarchy": True}]), "'proportion' knows no hierarchy"),
    (conf(plugins=["gang", "proportion", {"name": "drf", "enableHierarchy": True}]), "cannot share a tier"),
    (conf(plugins=[{"name": "gang", "enablePreemptible": False}]), "no option 'enablePreemptible'"),
]


@pytest.mark.parametrize(("wrong", "words"), ERRORS)
def test_wrong_configuration_is_an_error(wrong, words):
    assert [text for text in messages("error", wrong) if words in text]


@pytest.mark.parametrize(
    ("right", "version"),
    [
        (conf(actions="allocate, gangpreempt, gangreclaim"), "1.15.1"),
        (conf(actions="allocate, preempt, reclaim"), "1.10.0"),
        (conf(plugins=["gang", {"name": "capacity", "enableHierarchy": True}]), "1.10.0"),
        (conf(plugins=["gang", {"name": "drf", "enableHierarchy": True}]), "1.15.1"),
        (conf(plugins=["gang", "network-topology-aware"]), "1.12.0"),
    ],
)
def test_right_configuration_is_no_error(right, version):
    assert messages("error", right, version=version) == []


def test_plugins_that_contradict_each_other_may_stand_in_different_tiers():
    tiers = [{"plugins": [{"name": "gang"}, {"name": "capacity"}]}, {"plugins": [{"name": "proportion"}]}]
    assert "exclude each other" in messages("error", {"actions": "allocate", "tiers": tiers})[0]


@pytest.mark.parametrize(
    ("newer", "words"),
    [
        (conf(actions="allocate, gangpreempt"), "'gangpreempt' came with Volcano 1.15, this is 1.10"),
        (conf(plugins=["gang", "network-topology-aware"]), "came with Volcano 1.11, this is 1.10"),
    ],
)
def test_what_came_with_a_later_version_is_an_error_before_it(newer, words):
    assert words in messages("error", newer, version="1.10.0")[0]


WARNINGS = [
    (conf(actions="enqueue, allocate, preempt"), [], "'preempt' may never see them"),
    (conf(plugins=["predicates"]), [], "'gang' is missing"),
    (conf(), [{"name": "team-a", "parent": "research"}], "'team-a' has a parent"),
    (conf(plugins=["gang", "capacity"]), [{"name": "team-a", "parent": "research"}], "enableHierarchy: true"),
]


@pytest.mark.parametrize(("surprising", "queues", "words"), WARNINGS)
def test_surprising_configuration_is_a_warning(surprising, queues, words):
    assert [text for text in messages("warning", surprising, queues=queues) if words in text]
    assert messages("error", surprising, queues=queues) == []


@pytest.mark.parametrize(
    "queue", [{"name": "flat"}, {"name": "flat", "parent": "root"}, {"name": "flat", "parent": None}]
)
def test_queue_below_root_needs_no_hierarchy(queue):
    assert scheduler_conf_findings(conf(), version="1.15.1", queues=[queue]) == []


def test_child_queue_is_fine_with_hierarchical_capacity():
    tree = conf(plugins=["gang", {"name": "capacity", "enableHierarchy": True}])
    assert scheduler_conf_findings(tree, version="1.15.1", queues=[{"name": "a", "parent": "b"}]) == []


def test_unknown_plugin_is_a_warning_where_the_site_loads_its_own():
    own = conf(plugins=["gang", "magic"])
    assert messages("error", own, custom_plugins=True) == []
    assert "'magic'" in messages("warning", own, custom_plugins=True)[0]


def test_errors_come_before_warnings():
    levels = [each["level"] for each in scheduler_conf_findings(conf(actions="x", plugins=["predicates"]), "1.15.1")]
    assert levels == ["error", "error", "warning"]


@pytest.mark.parametrize(("wrong", "version"), [(STOCK, "latest"), ({"tiers": [{"plugins": [{}]}]}, "1.15.1")])
def test_input_that_cannot_be_judged_is_refused(wrong, version):
    with pytest.raises(AnsibleFilterError, match="scheduler_conf_findings"):
        scheduler_conf_findings(wrong, version=version)
