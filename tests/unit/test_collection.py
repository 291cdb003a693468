# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must agree inside the artefact, and between the artefact and what is written about it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ARTEFACT = ROOT / "build/collections/ansible_collections/kubegang/core"
ROLES = sorted(path.name for path in (ROOT / "roles").glob("*"))
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
USER_FACING = {
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "requirements.txt",
    "changelogs",
    "docs",
    "meta",
    "playbooks",
    "plugins",
    "roles",
}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("role", ROLES)
def test_role_defaults_and_argument_specs_hold_the_same_keys(role: str) -> None:
    folder = ARTEFACT / "roles" / role
    options = read(folder / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    optional = {name for name, option in options.items() if not option.get("required")}
    assert set(read(folder / "defaults/main.yml")) == optional


@pytest.mark.parametrize("role", ROLES)
def test_role_defaults_are_the_documented_ones(role: str) -> None:
    folder = ARTEFACT / "roles" / role
    options = read(folder / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    documented = {name: option["default"] for name, option in options.items() if "default" in option}
    actual = read(folder / "defaults/main.yml")
    assert {name: actual[name] for name in documented} == documented


@pytest.mark.parametrize("role", ROLES)
def test_public_variables_begin_with_the_name_of_their_role(role: str) -> None:
    assert [
        name for name in read(ARTEFACT / "roles" / role / "defaults/main.yml") if not name.startswith(f"{role}_")
    ] == []


def test_action_group_lists_every_module() -> None:
    assert sorted(read(ARTEFACT / "meta/runtime.yml")["action_groups"]["kubegang"]) == MODULES


def test_artefact_holds_only_what_users_need() -> None:
    files = json.loads((ARTEFACT / "FILES.json").read_text())["files"]
    assert {Path(file["name"]).parts[0] for file in files if file["name"] != "."} <= USER_FACING


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/testing.md", "docs/lab.md"])
def test_documents_name_only_make_words_that_exist(document: str) -> None:
    words = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / document).read_text(), flags=re.MULTILINE)) <= words


def test_readme_begins_with_the_two_commands() -> None:
    commands = re.search(r"```shell\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert commands is not None
    assert re.findall(r"^make (\w+)", commands[1], flags=re.MULTILINE) == ["demo", "test"]


def test_the_lower_bound_of_the_client_is_what_is_tested() -> None:
    bounds = dict(re.findall(r"^([\w-]+)>=(\S+)$", (ARTEFACT / "requirements.txt").read_text(), flags=re.MULTILINE))
    pins = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "requirements-oldest.txt").read_text(), flags=re.MULTILINE))
    assert bounds == {name: pins[name] for name in bounds}
