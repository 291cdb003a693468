# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver writes into the kernel's log, and how severe it is."""

from __future__ import annotations

import pytest
from ansible_collections.kubegang.core.plugins.plugin_utils._gpu_events import events

STAMP = "2026-11-30T15:00:00+00:00 n1 kernel: "
RECOVERY = "NVRM: Xid (PCI:0000:17:00): 154, GPU recovery action changed from {} to {}"


XID = "NVRM: Xid (PCI:0000:17:00): "
SXID = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): "


@pytest.mark.parametrize(
    ("line", "kind", "code", "severity", "says"),
    [
        (XID + "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "Xid", 79, "error", "off the bus"),
        (XID + "63, pid=1896, Row Remapper: New row marked for remapping", "Xid", 63, "warning", "reset the GPU"),
        (
            XID + "48, pid=9, An uncorrectable double bit error (DBE) has been detected",
            "Xid",
            48,
            "error",
            "double-bit",
        ),
        (XID + "94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No", "Xid", 94, "warning", "contained"),
        (XID + "95, pid=7194, Uncontained: LTC TAG", "Xid", 95, "error", "uncontained"),
        (XID + "13, pid=5, Graphics SM Warp Exception", "Xid", 13, "warning", "program"),
        (XID + "999, pid=5, something new", "Xid", 999, "warning", "something new"),
        (RECOVERY.format("0x0 (None)", "0x2 (Node Reboot Required)"), "Xid", 154, "error", "Node Reboot Required"),
        (RECOVERY.format("0x2 (Node Reboot Required)", "0x0 (None)"), "Xid", 154, "warning", "None"),
        (SXID + "20034, Fatal, Link 30 LTSSM Fault Up", "SXid", 20034, "error", "LTSSM"),
        (SXID + "24007, Non-fatal, Link 12 sourcetrack timeout", "SXid", 24007, "warning", "Link 12"),
    ],
)
def test_event_is_read_with_its_severity(line, kind, code, severity, says):
    (event,) = events([STAMP + line])
    address = "0000:c1:00.0" if kind == "SXid" else "0000:17:00"
    assert (event["kind"], event["code"], event["address"]) == (kind, code, address)
    assert (event["severity"], event["count"]) == (severity, 1)
    assert says in event["text"]


def test_repeated_events_of_one_device_are_counted_once():
    line = "kernel: NVRM: Xid (PCI:0000:{}:00): 31, pid=7, name=python3, MMU Fault"
    found = events([line.format("17"), line.format("17"), line.format("18")])
    assert [(event["address"], event["count"]) for event in found] == [("0000:17:00", 2), ("0000:18:00", 1)]


def test_details_of_a_switch_event_are_no_events():
    lines = [
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Severity 1 Engine instance 30 Sub-engine instance 00",
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Data {0x50610002, 0x10100030, 0x00000000}",
    ]
    assert [event["count"] for event in events(lines)] == [1]


def test_other_lines_are_no_events():
    assert events(["kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.309.01", ""]) == []
