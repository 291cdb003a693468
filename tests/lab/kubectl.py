# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubectl on a lab's cluster."""

from __future__ import annotations

import time

from .place import Place
from .shell import run, succeeds


class Kubectl:
    def __init__(self, place: Place) -> None:
        self._argv = [str(place.bin / "kubectl"), f"--kubeconfig={place.kubeconfig}"]

    def __call__(self, *args: str, stdin: str | None = None, what: str | None = None) -> str:
        return run([*self._argv, *args], stdin=stdin, what=what or f"run kubectl {' '.join(args[:3])}")

    def succeeds(self, *args: str) -> bool:
        return succeeds([*self._argv, "--request-timeout=3s", *args])

    def is_served(self, patience: float = 30.0) -> bool:
        """Whether the API server is ready, or becomes so soon: on a busy machine it may not answer at once."""
        deadline = time.monotonic() + patience
        while not self.succeeds("get", "--raw", "/readyz"):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True
