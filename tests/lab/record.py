# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""lab.json: what others need to know of a running lab."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping

from .build import Build
from .place import Place

_WITH_CHARTS = ("volcano", "lws")


def read(place: Place) -> dict | None:
    return json.loads(place.record.read_text()) if place.record.exists() else None


def write(place: Place, record: Mapping[str, object]) -> None:
    """Whole or not at all: a folder without a record is a lab that never finished starting."""
    unfinished = place.record.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(record, indent=1) + "\n")
    unfinished.rename(place.record)


def of_set(place: Place, set_name: str, builds: Mapping[str, Build]) -> dict:
    """The versions of a version set, and its charts, which it brings into the lab's folder."""
    charts = {name: place.folder / "charts" / set_name / name for name in _WITH_CHARTS}
    for name, chart in charts.items():
        shutil.copytree(builds[name].file("chart"), chart, dirs_exist_ok=True)
    return {
        "versions": {name: built.version for name, built in builds.items()},
        "charts": {name: str(chart) for name, chart in charts.items()},
    }


def environment(record: dict) -> dict[str, str]:
    """What a shell wants to know."""
    return {
        "KUBECONFIG": record["kubeconfig"],
        **{tool.upper(): f"{record['bin']}/{tool}" for tool in ("kubectl", "helm")},
        **{f"{name.upper()}_CHART": chart for name, chart in record["charts"].items()},
        "LAB_NAME": record["name"],
        "LAB_SET": record["set"],
        "LAB_AUDIT_LOG": record["audit_log"],
    }
