# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What counts as a difference between a wanted manifest and the stored object."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.kubegang.core.plugins.module_utils._change import Change, Rules, differing, merge, same
from hypothesis import given
from hypothesis import strategies as st

LIMITS = ("resources", "limits", "memory")

MEAN_THE_SAME = [
    # wanted, stored, path
    ("4", 4, ("replicas",)),
    (4, "4", ("annotations", "count")),
    (True, "true", ("annotations", "preemptable")),
    ("true", True, ("reclaimable",)),
    (2024, "2024", ("annotations", "year")),
    ("1000m", "1", ("limits", "cpu")),
    (0.5, "500m", ("limits", "cpu")),
    ("1024Mi", "1Gi", LIMITS),
    (1073741824, "1Gi", LIMITS),
    ("91696000", "91696k", ("capability", "cpu")),
    ("8193552060252160000", "7630840000Gi", ("capability", "memory")),
    (1000, "1e3", ("capability", "pods")),
    ("1024Mi", "1Gi", ("emptyDir", "sizeLimit")),
]
DIFFER = [
    ("2048Mi", "1Gi", LIMITS),
    ("8193552060252160001", "7630840000Gi", ("capability", "memory")),
    ("4G", "4Gi", ("deserved", "memory")),
    ("1000m", "1", ("labels", "cpu")),  # text is text outside resource lists
    ("on", "true", ("annotations", "x")),
    (1, True, ("reclaimable",)),
    ("much", "1", ("limits", "cpu")),
    ("", "x", ("env", "value")),
]


@pytest.mark.parametrize(("wanted", "stored", "path"), MEAN_THE_SAME)
def test_two_spellings_of_one_value_are_no_difference(wanted, stored, path):
    assert same(wanted, stored, path)


@pytest.mark.parametrize(("wanted", "stored", "path"), DIFFER)
def test_two_values_are_a_difference_however_alike_they_look(wanted, stored, path):
    assert not same(wanted, stored, path)


STORED_JOB = {
    "metadata": {"name": "train", "uid": "1", "resourceVersion": "7"},
    "spec": {
        "minAvailable": 2,
        "queue": "default",
        "maxRetry": 3,
        "plugins": {"pytorch": ["--port=1"], "svc": []},
        "tasks": [
            {
                "name": "worker",
                "replicas": 2,
                "maxRetry": 3,
                "template": {
                    "metadata": {"creationTimestamp": None},
                    "spec": {"containers": [{"name": "c", "image": "x:1", "resources": {"limits": {"cpu": "1"}}}]},
                },
            }
        ],
    },
}


def task(**changes):
    containers = [{"name": "c", "image": changes.pop("image", "x:1"), "resources": {"limits": {"cpu": "1000m"}}}]
    return {"name": "worker", "replicas": 2, "template": {"spec": {"containers": containers}}, **changes}


def changes(wanted_spec, rules=Rules()):
    wanted = {"metadata": {"name": "train"}, "spec": wanted_spec}
    return differing(STORED_JOB, merge(wanted, STORED_JOB, rules))


def test_defaults_that_a_webhook_filled_in_are_no_difference():
    assert changes({"minAvailable": 2, "plugins": {"pytorch": ["--port=1"]}, "tasks": [task()]}) == []


def test_a_changed_field_is_named_by_its_path():
    assert changes({"tasks": [task(image="x:2")]}) == ["spec.tasks[worker].template.spec.containers[c].image"]


def test_a_list_is_given_whole_so_a_stored_item_that_is_not_wanted_is_a_difference():
    assert changes({"tasks": [task(), {"name": "ps", "replicas": 1}]}) == ["spec.tasks"]
    assert changes({"tasks": []}) == ["spec.tasks"]


def test_a_field_that_go_drops_when_it_is_zero_is_no_difference():
    spec = {"containers": [{"name": "c", "image": "x:1", "command": [], "tty": False}], "hostNetwork": False}
    assert changes({"tasks": [task(template={"spec": spec})]}) == []


@pytest.mark.parametrize("items", [[{"name": ["a"]}], [{"name": "a", "x": 1}, {"name": "a", "x": 2}]])
def test_items_that_names_do_not_tell_apart_are_matched_by_place(items):
    assert differing({"env": items}, merge({"env": items}, {"env": items})) == []


def test_an_empty_list_of_limits_is_no_difference():
    stored = {"resources": {"requests": {"cpu": "10m"}}}
    assert merge({"resources": {"requests": {"cpu": "10m"}, "limits": {}}}, stored) == stored


def test_a_zero_that_is_stored_as_given_is_a_difference():
    spec = {"containers": [{"name": "c", "image": "x:1"}], "terminationGracePeriodSeconds": 0}
    assert changes({"tasks": [task(template={"spec": spec})]}) == [
        "spec.tasks[worker].template.spec.terminationGracePeriodSeconds"
    ]


def test_an_empty_plugin_is_wanted_even_though_it_has_no_arguments():
    assert changes({"plugins": {"ssh": []}}) == ["spec.plugins.ssh"]


def test_a_whole_mapping_loses_what_is_no_longer_named():
    stored = {"spec": {"capability": {"cpu": "4", "memory": "1Gi"}, "weight": 1}}
    wanted = {"spec": {"capability": {"cpu": 4}}}
    rules = Rules(whole=("spec.capability",))
    assert merge(wanted, stored, rules) == {"spec": {"capability": {"cpu": "4"}, "weight": 1}}
    assert differing(stored, merge(wanted, stored, rules)) == ["spec.capability.memory"]


def test_the_order_of_named_items_is_a_difference():
    stored = {"env": [{"name": "a", "value": "1"}, {"name": "b", "value": "$(a)"}]}
    assert differing(stored, merge({"env": stored["env"][::-1]}, stored)) == ["env"]


def test_what_only_the_server_writes_is_no_change():
    after = copy.deepcopy(STORED_JOB)
    after["metadata"].update(uid="2", resourceVersion="9", managedFields=[])
    after["status"] = {"running": 2}
    change = Change(STORED_JOB, after)
    assert not change.changed
    assert change.result()["diff"]["before"] == change.result()["diff"]["after"]


@pytest.mark.parametrize(("before", "after"), [(None, STORED_JOB), (STORED_JOB, None)])
def test_coming_and_going_are_changes(before, after):
    assert Change(before, after).changed


def test_nothing_before_and_after_is_no_change():
    assert Change(None, None).result() == {"changed": False, "diff": {"before": {}, "after": {}}, "object": {}}


names = st.sampled_from(["name", "limits", "labels", "spec", "value", "x"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


@given(values)
def test_an_object_never_differs_from_itself(value):
    assert differing(value, merge(value, value)) == []


@given(values, values)
def test_merging_twice_is_merging_once(wanted, stored):
    once = merge(wanted, stored)
    assert merge(wanted, once) == once
