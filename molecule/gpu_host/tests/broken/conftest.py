# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks on the scenario's hosts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.playbooks import Ansible

SCENARIO = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def ansible(tmp_path_factory) -> Iterator[Ansible]:
    with Ansible(tmp_path_factory.mktemp("ansible"), {}, SCENARIO / "inventory.yml") as ansible:
        yield ansible
