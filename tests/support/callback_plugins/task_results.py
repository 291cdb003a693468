# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes each task result as one line of JSON, failed ones too: tests judge what ansible-core really returned."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: task_results
type: notification
short_description: Write task results as JSON lines
description:
  - Appends one JSON object per task result to the file that the environment variable E(KUBEGANG_TASK_RESULTS) names.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "task_results"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._started: dict[tuple[str, str], float] = {}

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        self._started[host.name, task._uuid] = time.monotonic()

    def v2_runner_on_ok(self, result: Any) -> None:
        self._write("ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._write("ignored" if ignore_errors else "failed", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._write("skipped", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._write("unreachable", result)

    def _write(self, status: str, result: Any) -> None:
        host, task = result.host.name, result.task
        line = {
            "host": host,
            "task": task.get_name(),
            "action": task.action,
            "status": status,
            "seconds": time.monotonic() - self._started[host, task._uuid],
            "result": result.result,
        }
        with open(os.environ["KUBEGANG_TASK_RESULTS"], "a", encoding="utf-8") as file:
            # default: ansible-core marks values with types of its own that still print as what they are.
            file.write(json.dumps(line, default=str) + "\n")
