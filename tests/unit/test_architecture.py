# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/architecture.md is kept: who imports what."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UTILS = {path.stem: path for path in (ROOT / "plugins/module_utils").glob("_*.py")}
CODE = sorted((ROOT / "plugins").rglob("*.py"))
OURS = "ansible_collections.kubegang.core.plugins"


def imports(path: Path) -> set[str]:
    """The full names of all modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def importers(prefix: str) -> set[str]:
    names = {path.name: imports(path) for path in CODE}
    return {
        name for name, modules in names.items() if any((module + ".").startswith(prefix + ".") for module in modules)
    }


def test_only_the_connection_imports_kubernetes() -> None:
    assert importers("kubernetes") == {"_cluster.py"}


def test_only_the_module_adapter_knows_ansible_module() -> None:
    assert importers("ansible.module_utils.basic") <= {"_module.py", "_operation.py"}
    assert [path.name for path in CODE if "AnsibleModule(" in path.read_text()] == ["_module.py"]


@pytest.mark.parametrize("util", sorted(UTILS))
def test_no_util_imports_a_module_or_an_action(util: str) -> None:
    assert {name for name in imports(UTILS[util]) if name.startswith(OURS)} <= {
        f"{OURS}.module_utils.{name}" for name in UTILS
    }


def test_utils_import_each_other_without_a_cycle() -> None:
    prefix = f"{OURS}.module_utils."
    graph = {
        util: {name.removeprefix(prefix) for name in imports(path) if name.startswith(prefix)}
        for util, path in UTILS.items()
    }
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("_errors") < order.index("_cluster") < order.index("_wait") < order.index("_change")


def test_every_util_says_that_it_is_private() -> None:
    assert [name for name, path in UTILS.items() if "Private to kubegang.core" not in path.read_text()] == []


def test_the_page_names_every_room_and_no_other() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    assert set(re.findall(r"`(_\w+)\.py`", page)) == set(UTILS)
