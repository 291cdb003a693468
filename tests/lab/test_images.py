# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of images: what containerd is given."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.lab import images
from tests.lab.build import Build
from tests.lab.components import COMPONENTS


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Build]:
    """Builds whose programs are their own names."""
    monkeypatch.setenv("KUBEGANG_LAB_CACHE", str(tmp_path / "cache"))
    # Stands for busybox and openssl, which unit tests must not need.
    monkeypatch.setattr(images, "busybox", lambda: {"bin/busybox": b"busybox", "bin/sh": images.Link("busybox")})
    monkeypatch.setattr(images, "with_libraries", lambda program: {f"bin/{program}": program.encode()})
    made = {name: Build(name, "1.2.3", tmp_path / name) for name in COMPONENTS}
    for name, build in made.items():
        build.folder.mkdir()
        for entry in [*COMPONENTS[name].programs, *COMPONENTS[name].files]:
            (build.folder / entry).write_text(entry)
    return made


class Layout:
    """Reads an archive as a container runtime would."""

    def __init__(self, archive: Path) -> None:
        with tarfile.open(archive) as tar:
            self._files = {member.name: tar.extractfile(member).read() for member in tar.getmembers()}  # type: ignore[union-attr]
        index = json.loads(self._files["index.json"])["manifests"]
        self._manifests = {entry["annotations"]["io.containerd.image.name"]: entry["digest"] for entry in index}

    @property
    def names(self) -> set[str]:
        return set(self._manifests)

    def manifest(self, name: str) -> dict:
        return json.loads(self._blob(self._manifests[name]))

    def config(self, name: str) -> dict:
        return json.loads(self._blob(self.manifest(name)["config"]["digest"]))["config"]

    def files(self, name: str) -> dict[str, tarfile.TarInfo]:
        found: dict[str, tarfile.TarInfo] = {}
        for layer in self.manifest(name)["layers"]:
            with tarfile.open(fileobj=io.BytesIO(self._blob(layer["digest"]))) as tar:
                found.update({member.name: member for member in tar.getmembers()})
        return found

    def _blob(self, digest: str) -> bytes:
        return self._files[f"blobs/sha256/{digest.removeprefix('sha256:')}"]


def test_images_have_the_names_that_the_charts_use(builds: dict[str, Build]) -> None:
    assert Layout(images.archive(builds)).names == {
        "docker.io/library/busybox:1.36",
        "docker.io/volcanosh/vc-controller-manager:v1.2.3",
        "docker.io/volcanosh/vc-scheduler:v1.2.3",
        "docker.io/volcanosh/vc-webhook-manager:v1.2.3",
        "kubegang.dev/lab/gpu-plugin-double:v1.2.3",
        "registry.k8s.io/lws/lws:main",
        "registry.k8s.io/lws/lws:v1.2.3",
        "registry.k8s.io/pause:3.10",
    }


def test_a_set_that_joins_a_lab_takes_no_name_from_the_lab_s_own(builds: dict[str, Build]) -> None:
    names = Layout(images.archive(builds, unversioned=False)).names
    assert "registry.k8s.io/lws/lws:v1.2.3" in names
    assert "registry.k8s.io/lws/lws:main" not in names


def test_the_webhook_image_has_what_the_certificate_job_runs(builds: dict[str, Build]) -> None:
    files = Layout(images.archive(builds)).files("docker.io/volcanosh/vc-webhook-manager:v1.2.3")
    assert {"gen-admission-secret.sh", "bin/kubectl", "bin/openssl", "bin/sh", "vc-webhook-manager"} <= files.keys()
    assert files["gen-admission-secret.sh"].mode & 0o111
    assert files["tmp"].mode == 0o1777


def test_lws_runs_as_the_user_that_its_chart_insists_on(builds: dict[str, Build]) -> None:
    config = Layout(images.archive(builds)).config("registry.k8s.io/lws/lws:v1.2.3")
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/manager"]


def test_the_shell_is_stored_once_for_all_images(builds: dict[str, Build]) -> None:
    layout = Layout(images.archive(builds))
    assert len({layout.manifest(name)["layers"][0]["digest"] for name in layout.names}) == 1


def test_an_archive_is_made_once(builds: dict[str, Build]) -> None:
    first = images.archive(builds)
    written = first.stat().st_mtime_ns
    assert images.archive(builds) == first
    assert first.stat().st_mtime_ns == written


def test_a_program_that_was_built_anew_makes_a_new_archive(builds: dict[str, Build]) -> None:
    before = images.archive(builds)
    (builds["lws"].folder / "lws-manager").write_text("something else")
    assert images.archive(builds) != before
