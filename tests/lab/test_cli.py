# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong is told in one line, and the exit status says so."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable

import pytest

from tests.lab import cli, host

Refusal = Callable[..., str]


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Refusal:
    """Runs a word that must fail and answers its one line."""

    def run(*argv: str) -> str:
        assert cli.main(list(argv)) == 1
        (line,) = capsys.readouterr().err.splitlines()
        return line.removeprefix("lab: error: ")

    return run


@pytest.mark.parametrize("word", ["up", "down"])
def test_without_root_it_says_so(word: str, refusal: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert refusal(word, "--name", "absent") == (
        "the lab needs root for its namespaces, mounts and cgroups: run it with sudo"
    )


def test_on_another_system_it_says_which(refusal: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert refusal("up", "--name", "absent") == "the lab needs Linux for its namespaces and cgroups, and this is Darwin"


def test_without_a_tool_and_apt_it_names_the_packages(refusal: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    have = shutil.which
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool in ("conntrack", "apt-get") else have(tool) or tool)
    monkeypatch.setattr(host, "plugin_folder", lambda: None)
    assert refusal("up", "--name", "absent") == (
        "this machine lacks what the Debian packages conntrack, containernetworking-plugins bring, "
        "and there is no apt-get to install them"
    )


def test_without_disk_it_says_how_much_is_needed(refusal: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: shutil._ntuple_diskusage(9, 9, 2**30))
    assert refusal("up", "--name", "absent").endswith("has 1.0 GiB free and a lab needs 4")


@pytest.mark.parametrize("words", [["env"], ["nodes", "--count", "8"]])
def test_a_word_for_a_running_lab_says_that_none_runs(words: list[str], refusal: Refusal) -> None:
    assert refusal(*words, "--name", "absent") == "lab absent is not running: start it with the word up"


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["up", "--name", "No Name"], "'No Name' is no lab name: up to 32 of a-z, 0-9 and -, not at its ends"),
        (["up", "--set", "newest"], "invalid choice: 'newest'"),
        (["nodes", "--count", "-1"], "'-1' is no number of nodes or GPUs"),
    ],
)
def test_a_wrong_option_is_named(argv: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(argv)
    assert end.value.code == 2
    assert complaint in capsys.readouterr().err
