# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""python -m tests.lab: the lab's words."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from typing import TypeAlias

from . import build, lab, record
from .errors import LabError
from .lab import Wish
from .place import Place
from .progress import say
from .versions import set_names, version_set

_Words: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    # Not every root has them in its path, and kube-proxy looks for iptables there too.
    os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"
    try:
        arguments.word(arguments)
    except LabError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab", description="A real Kubernetes cluster on this machine."
    )
    words = parser.add_subparsers(required=True, metavar="WORD")

    up = _word(words, "up", _up, "start the lab; a running one is used as it is")
    _add_set(up)
    up.add_argument("--no-real-node", dest="real_node", action="store_false", help="simulated nodes only")
    up.add_argument("--gpu-nodes", type=_count, default=4, help="simulated GPU nodes (default: 4)")
    up.add_argument("--gpus-per-node", type=_count, default=8, help="GPUs of each (default: 8)")

    _word(words, "down", _down, "stop the lab and remove every trace of it")
    _word(words, "status", _status, "say what runs")
    _word(words, "env", _env, "print KEY=VALUE lines for a shell")

    nodes = _word(words, "nodes", _nodes, "make sure that the running lab has so many GPU nodes")
    nodes.add_argument("--count", type=_count, required=True)

    more = _word(words, "images", _images, "bring the images and charts of one more version set into the running lab")
    _add_set(more)

    builds = words.add_parser("build", help="build the programs of a version set, as far as they are missing")
    _add_set(builds)
    builds.set_defaults(word=_build)
    return parser


def _word(
    words: _Words, name: str, function: Callable[[argparse.Namespace], None], text: str
) -> argparse.ArgumentParser:
    parser = words.add_parser(name, help=text)
    parser.add_argument(
        "--name", type=_place, dest="place", default=Place("main"), help="the lab's name (default: main)"
    )
    parser.set_defaults(word=function)
    return parser


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", dest="set_name", choices=set_names(), default="default", help="version set (default: default)"
    )


def _place(name: str) -> Place:
    try:
        return Place(name)
    except LabError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of nodes or GPUs")
    return int(text)


def _up(arguments: argparse.Namespace) -> None:
    wish = Wish(arguments.set_name, arguments.real_node, arguments.gpu_nodes, arguments.gpus_per_node)
    lab.up(arguments.place, wish)


def _down(arguments: argparse.Namespace) -> None:
    lab.down(arguments.place)


def _status(arguments: argparse.Namespace) -> None:
    print(json.dumps(lab.status(arguments.place), indent=1))


def _env(arguments: argparse.Namespace) -> None:
    for key, value in record.environment(lab.require(arguments.place)).items():
        print(f"{key}={value}")


def _nodes(arguments: argparse.Namespace) -> None:
    lab.ensure_gpu_nodes(arguments.place, arguments.count)


def _images(arguments: argparse.Namespace) -> None:
    lab.add_images(arguments.place, arguments.set_name)


def _build(arguments: argparse.Namespace) -> None:
    build.ensure(version_set(arguments.set_name))
