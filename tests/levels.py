# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every test level in order, on one lab: python -m tests.levels

Ends after the stage in which a level fails, always stops the lab, and ends with the seconds of each level and one closing line.
Each level is the make word that a developer runs alone, so that both see the same.
"""

from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

from tests.support.playbooks import ROOT

Lane = dict[str, list[str]]
Row = tuple[str, float, Counter[str]]

REPORTS = ROOT / "build" / "test"
# Stages come one after another, and so do the levels of a lane; the lanes of a stage run side by side. GPU hosts need no lab, and
# the levels on the lab mostly wait: for pods, and for windows in which nothing may happen.
STAGES: tuple[tuple[Lane, ...], ...] = (
    (
        {
            "lint": ["lint"],
            "unit": ["unit"],
            "lab, itself": ["lab-test"],
            "molecule default": ["molecule", "S=default"],
            "lab, started": ["lab"],
            "contract": ["contract"],
        },
    ),
    (
        {
            "integration": ["integration"],
            "molecule volcano": ["molecule", "S=volcano"],
            "molecule lws": ["molecule", "S=lws"],
        },
        {
            "molecule gpu_host": ["molecule", "S=gpu_host"],
            "molecule rpm_host": ["molecule", "S=rpm_host"],
            "molecule runtime_host": ["molecule", "S=runtime_host"],
            "own labs": ["own-labs"],
        },
    ),
    ({"bench": ["bench"]},),
)


def run_stages() -> Iterator[Row]:
    """Name, seconds and counts of each level, up to and including the first stage with a failure."""
    for lanes in STAGES:
        rows = run_stage(lanes)
        yield from rows
        if any(counts["failed"] for _, _, counts in rows):
            return


def run_stage(lanes: Sequence[Lane]) -> list[Row]:
    """The first lane speaks while it runs, another one when it is over, so that their words do not mingle."""
    first, *others = lanes
    logs = [REPORTS / f"lane-{number}.log" for number in range(1, len(lanes))]
    with ThreadPoolExecutor() as pool:
        beside = [pool.submit(run_lane, lane, log) for lane, log in zip(others, logs, strict=True)]
        rows = run_lane(first)
    for lane, log in zip(beside, logs, strict=True):
        print(log.read_text(), end="", flush=True)
        rows += lane.result()
    return rows


def run_lane(lane: Lane, log: Path | None = None) -> list[Row]:
    """The rows of a lane's levels up to its first failure; ``log`` takes their output."""
    rows: list[Row] = []
    for name, words in lane.items():
        seconds, ok = make(name, words, log)
        rows.append((name, seconds, count(words[0], ok)))
        if not ok:
            break
    return rows


def make(name: str, words: Sequence[str], log: Path | None = None) -> tuple[float, bool]:
    started = time.monotonic()
    with log.open("a") if log else nullcontext() as output:
        print(f"\n=== {name}: make {' '.join(words)}", file=output, flush=True)
        done = subprocess.run(
            ["make", *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        )
    return time.monotonic() - started, done.returncode == 0


def count(level: str, ok: bool) -> Counter[str]:
    """The tests that pytest reported for a level; a level without a report counts as one test."""
    counts: Counter[str] = Counter()
    for report in [*REPORTS.glob(f"{level}.xml"), *REPORTS.glob(f"{level}-oldest.xml")]:
        for suite in ET.parse(report).getroot():
            failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
            skipped = int(suite.attrib["skipped"])
            counts += Counter(failed=failed, skipped=skipped, passed=int(suite.attrib["tests"]) - failed - skipped)
    if not ok and not counts["failed"]:
        counts["failed"] += 1
    elif not counts:
        counts["passed"] += 1
    return counts


def main() -> int:
    REPORTS.mkdir(parents=True, exist_ok=True)
    for earlier in [*REPORTS.glob("*.xml"), *REPORTS.glob("lane-*.log")]:
        earlier.unlink()
    rows: list[Row] = []
    try:
        rows.extend(run_stages())
    finally:
        seconds, stopped = make("lab-down", ["lab-down"])
        rows.append(("lab-down", seconds, Counter(passed=stopped, failed=not stopped)))
        print(f"\n{'level':<20}{'seconds':>8}{'passed':>8}{'failed':>8}")
        for name, seconds, counts in rows:
            print(f"{name:<20}{seconds:>8.0f}{counts['passed']:>8}{counts['failed']:>8}")
    total = sum((counts for _, _, counts in rows), Counter())
    skipped = f", {total['skipped']} skipped" if total["skipped"] else ""
    print(f"\n{total['passed']} passed, {total['failed']} failed{skipped}", flush=True)
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
