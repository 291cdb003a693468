# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is built when: with a Go that writes files instead of compiling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab import build
from tests.lab.components import COMPONENTS
from tests.lab.errors import LabError
from tests.lab.versions import version_set


class FakeGo:
    """Answers like go, and can break while it builds one component."""

    breaks_at: str | None = None
    built: list[str]

    def __init__(self, modules: Path) -> None:
        self._modules = modules
        self.built = []

    def __call__(self, *args: str | Path, **_told: object) -> str:
        words = [str(argument) for argument in args]
        if words[:2] == ["mod", "download"]:
            return json.dumps({"Dir": str(self._module(words[-1].partition("@")[0]))})
        if words[0] == "build":
            self._build(Path(words[words.index("-o") + 1]))
        return ""

    def _module(self, module: str) -> Path:
        """A module with every file that some component takes from it, read-only as in the module cache."""
        folder = self._modules / module.replace("/", "_")
        files = [
            file for component in COMPONENTS.values() if component.module == module for file in component.files.values()
        ]
        for file in [*files, "pkg/apis/scheduling/v1beta1/types.go"]:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).touch()
        return folder

    def _build(self, program: Path) -> None:
        if program.name == self.breaks_at:
            raise LabError("interrupted")
        self.built.append(program.name)
        program.write_text("a program")


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeGo:
    fake = FakeGo(tmp_path / "modules")
    monkeypatch.setenv("KUBEGANG_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "Go", lambda _cache: fake)
    return fake


def test_a_second_time_builds_nothing(go: FakeGo) -> None:
    build.ensure(version_set("default"))
    first = list(go.built)
    build.ensure(version_set("default"))
    assert first
    assert go.built == first


def test_another_set_builds_only_what_differs(go: FakeGo) -> None:
    build.ensure(version_set("default"))
    go.built.clear()
    build.ensure(version_set("older"))
    assert set(go.built) == {*COMPONENTS["volcano"].programs, *COMPONENTS["lws"].programs}


def test_an_interrupted_build_is_not_taken_for_a_finished_one(go: FakeGo) -> None:
    go.breaks_at = "kube-scheduler"
    with pytest.raises(LabError, match="interrupted"):
        build.ensure(version_set("default"))
    go.built.clear()
    go.breaks_at = None
    builds = build.ensure(version_set("default"))
    assert "etcd" not in go.built
    assert set(COMPONENTS["kubernetes"].programs) <= set(go.built)
    assert all(program.exists() for each in builds.values() for program in each.programs.values())


@pytest.mark.usefixtures("go")
def test_what_a_killed_build_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    left = tmp_path / "cache" / "builds" / ".etcd-killed"
    left.mkdir(parents=True)
    build.ensure(version_set("default"))
    assert not left.exists()


def test_files_taken_from_a_module_are_writable(go: FakeGo) -> None:
    chart = build.ensure(version_set("default"))["volcano"].file("gen-admission-secret.sh")
    assert chart.stat().st_mode & 0o200


def test_progress_says_what_is_built_and_which_of_how_many(go: FakeGo, capsys: pytest.CaptureFixture[str]) -> None:
    build.ensure(version_set("default"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "lab: building etcd 3.7.3 (1 of 7) …"
    assert lines[1] == "lab: built etcd 3.7.3 (1 of 7) in 0 s"


@pytest.mark.usefixtures("go")
def test_too_little_disk_stops_a_build_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "COLD_BUILD_BYTES", 2**60)
    with pytest.raises(LabError, match="GiB free and a build needs"):
        build.ensure(version_set("default"))


def _key(name: str, version: str) -> str:
    return build.planned(name, version).folder.name


def test_a_build_is_known_by_its_version_and_toolchain(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _key("lws", "0.9.0")
    assert _key("lws", "0.9.0") == before
    assert _key("lws", "0.8.0") != before
    monkeypatch.setattr(build, "go_version", lambda: "1.99.0")
    assert _key("lws", "0.9.0") != before


def test_a_build_is_known_by_the_locked_dependencies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "etcd"
    own.mkdir()
    monkeypatch.setattr(build, "OWN_MODULES", tmp_path)
    (own / "go.mod").write_text("require go.etcd.io/etcd/server/v3 v3.7.3 // indirect\n")
    (own / "go.sum").write_text("one\n")
    before = _key("etcd", "3.7.3")
    (own / "go.sum").write_text("another\n")
    assert _key("etcd", "3.7.3") != before
