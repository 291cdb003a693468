# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Version sets, and that each is built from the Go module that is meant."""

from __future__ import annotations

import pytest

from tests.lab import build
from tests.lab.components import COMPONENTS
from tests.lab.errors import LabError
from tests.lab.versions import set_names, version_set


@pytest.mark.parametrize("name", set_names())
def test_every_set_gives_each_component_one_version(name: str) -> None:
    assert version_set(name).keys() == COMPONENTS.keys()


def test_a_set_changes_only_what_its_own_line_says() -> None:
    default, older = version_set("default"), version_set("older")
    assert {name for name in default if default[name] != older[name]} == {"volcano", "lws"}


def test_an_unknown_set_is_named_beside_those_that_exist() -> None:
    with pytest.raises(LabError, match="no version set 'newest': one of default, older"):
        version_set("newest")


@pytest.mark.parametrize(
    ("component", "folder"),
    [("etcd", "etcd"), ("kubernetes", "kubernetes"), ("helm", "kubernetes"), ("volcano", "kubernetes")],
)
def test_the_default_set_is_what_our_own_go_modules_require(component: str, folder: str) -> None:
    own = build.own_module(COMPONENTS[component], version_set("default")[component])
    assert own == build.OWN_MODULES / folder


@pytest.mark.parametrize(("set_name", "component"), [("default", "kwok"), ("default", "lws"), ("older", "volcano")])
def test_any_other_version_is_built_in_its_own_module(set_name: str, component: str) -> None:
    assert build.own_module(COMPONENTS[component], version_set(set_name)[component]) is None
