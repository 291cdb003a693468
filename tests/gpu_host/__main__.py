# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""python -m tests.gpu_host: machines with two GPUs that are none, for the roles that set up GPU hosts."""

from __future__ import annotations

import argparse
import os
import sys

from tests.lab.errors import LabError
from tests.lab.progress import say

from . import machine, podman
from .releases import RELEASES


def main() -> int:
    arguments = _parser().parse_args()
    # Not every root has them in its path.
    os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"
    try:
        if arguments.word == "up":
            machine.up(arguments.host)
        elif arguments.word == "down":
            machine.down(arguments.hosts)
        else:
            print("\n".join(f"{key}={value}" for key, value in podman.environment().items()))
    except LabError as error:
        say(f"error: {error}")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu_host", description="GPU hosts without a GPU.")
    words = parser.add_subparsers(dest="word", required=True, metavar="WORD")
    up = words.add_parser("up", help="start a host anew, as it comes from its installer")
    up.add_argument("host", choices=sorted(RELEASES))
    down = words.add_parser("down", help="stop these hosts, or all; the last one leaves nothing behind but the cache")
    down.add_argument("hosts", nargs="*", choices=sorted(RELEASES), metavar="host")
    words.add_parser("env", help="print KEY=VALUE lines for a shell: with them, podman sees the hosts")
    return parser


if __name__ == "__main__":
    sys.exit(main())
