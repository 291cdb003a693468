# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every test level in order, on one lab: python -m tests.levels

Stops at the first level that fails, always stops the lab, and ends with the seconds of each level and one closing line.
Each level is the make word that a developer runs alone, so that both see the same.
"""

from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.playbooks import ROOT

REPORTS = ROOT / "build" / "test"
LEVELS = {
    "lint": ["lint"],
    "unit": ["unit"],
    "lab, itself": ["lab-test"],
    "molecule default": ["molecule", "S=default"],
    "lab, started": ["lab"],
    "contract": ["contract"],
    "integration": ["integration"],
    "molecule volcano": ["molecule", "S=volcano"],
    "molecule lws": ["molecule", "S=lws"],
    "bench": ["bench"],
}


def run_levels() -> Iterator[tuple[str, float, Counter[str]]]:
    """Name, seconds and counts of each level, up to and including the first that fails."""
    for name, words in LEVELS.items():
        print(f"\n=== {name}: make {' '.join(words)}", flush=True)
        seconds, ok = make(*words)
        counts = count(words[0], ok)
        yield name, seconds, counts
        if not ok:
            return


def make(*words: str) -> tuple[float, bool]:
    started = time.monotonic()
    done = subprocess.run(["make", *words], cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
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
    for report in Path(REPORTS).glob("*.xml"):
        report.unlink()
    rows = []
    try:
        rows.extend(run_levels())
    finally:
        seconds, stopped = make("lab-down")
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
