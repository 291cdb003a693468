# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""Xid and SXid events in the kernel's log: what NVIDIA's driver reports of GPUs and NVSwitches, by severity."""

from __future__ import annotations

import re
from typing import Any

# Events after which a GPU is not to be trusted before it was reset, or the host rebooted, or the GPU replaced.
_CRITICAL = {
    46: "GPU stopped processing",
    48: "double-bit ECC error",
    54: "auxiliary power is not connected",
    56: "display engine error",
    57: "error in programming the video memory interface",
    58: "unstable video memory interface",
    61: "internal microcontroller breakpoint",
    62: "internal microcontroller halt",
    64: "a bad memory row or page could not be recorded",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    95: "uncontained ECC error",
    109: "context switch timeout",
    110: "security fault",
    119: "GPU System Processor does not answer",
    120: "GPU System Processor error",
    121: "chip-to-chip link error",
    136: "link training failed",
    140: "unrecovered ECC error",
    143: "GPU initialization failed",
    144: "NVLink: SAW error",
    145: "NVLink: RLW error",
    146: "NVLink: TLW error",
    147: "NVLink: TREX error",
    148: "NVLink: NVLPW_CTRL error",
    149: "NVLink: NETIR error",
    150: "NVLink: MSE error",
    151: "key rotation error",
    155: "NVLink: link went down by software",
    156: "a resource was retired",
    158: "GPU fatal timeout",
}  # fmt: skip
# Events that a program causes, or that leave the GPU usable.
_NOTABLE = {
    13: "graphics engine exception, mostly by a program",
    31: "memory page fault, mostly by a program",
    43: "a program's channel was reset",
    45: "a program's work was removed",
    63: "a bad memory row or page was recorded; reset the GPU to activate the repair",
    68: "video processor exception",
    69: "graphics engine class error",
    92: "high rate of single-bit ECC errors",
    94: "contained ECC error; restart the program",
}
# With this one the driver says what it wants; 0x0 is: nothing.
_RECOVERY = 154

_XID = re.compile(r"\bXid \((?:PCI:)?(?P<address>[0-9a-fA-F:.]+)\): (?P<code>\d+),? ?(?P<text>.*)$")
# The lines that follow an SXid, with registers and data, name its code again but not its severity.
_SXID = re.compile(r"\bSXid \((?:PCI:)?(?P<address>[0-9a-fA-F:.]+)\): (?P<code>\d+), (?P<text>(?:Non-f|F)atal.*)$")


def events(lines: list[str]) -> list[dict[str, Any]]:
    """One entry for each kind of event on each device: kind, code, address, severity (error or warning), count, text."""
    found: dict[tuple[str, int, str], dict[str, Any]] = {}
    for line in lines:
        event = _event(line)
        if event:
            known = found.setdefault((event["kind"], event["code"], event["address"]), {**event, "count": 0})
            known["count"] += 1
            if event["severity"] == "error":
                known.update(severity="error", text=event["text"])
    return sorted(found.values(), key=lambda event: (event["severity"], event["kind"], event["code"], event["address"]))


def _event(line: str) -> dict[str, Any] | None:
    for kind, pattern, judge in (("SXid", _SXID, _judge_switch), ("Xid", _XID, _judge_gpu)):
        match = pattern.search(line)
        if match:
            code, said = int(match["code"]), match["text"].strip()
            severity, text = judge(code, said)
            return {"kind": kind, "code": code, "address": match["address"], "severity": severity, "text": text}
    return None


def _judge_gpu(code: int, said: str) -> tuple[str, str]:
    if code == _RECOVERY:
        action = re.search(r"to 0x(?P<number>[0-9a-fA-F]+) \((?P<name>[^)]*)\)", said)
        wanted = action is None or int(action["number"], 16) != 0
        return ("error" if wanted else "warning"), f"the driver asks for: {action['name'] if action else said}"
    if code in _CRITICAL:
        return "error", _CRITICAL[code]
    return "warning", _NOTABLE.get(code, said or "see NVIDIA's catalog of Xid errors")


def _judge_switch(_code: int, said: str) -> tuple[str, str]:
    return ("error" if said.startswith("Fatal") else "warning"), said
