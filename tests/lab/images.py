# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container images of what was built, under the names that the charts use. No registry is asked for anything."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .build import Build, cache_folder
from .errors import LabError
from .node import PAUSE_IMAGE
from .shell import run

BUSYBOX_IMAGE = "docker.io/library/busybox:1.36"
GPU_PLUGIN_DOUBLE_IMAGE = "kubegang.dev/lab/gpu-plugin-double"

# What an image's layers hold: path in the image → a file of this machine, a link's target or text.
Content = Mapping[str, "Path | Link | bytes"]


@dataclass(frozen=True)
class Link:
    target: str


@dataclass(frozen=True)
class Image:
    """One layer on top of busybox: a shell to look around with costs nothing when the layer is shared."""

    names: tuple[str, ...]
    entrypoint: tuple[str, ...]
    content: Content = field(default_factory=dict)
    user: str = ""


def archive(builds: Mapping[str, Build], unversioned: bool = True) -> Path:
    """A file that holds all images of a version set, made once and kept in the cache.

    Names without a version belong to the lab's own set: another one that joins it comes without.
    """
    images = _images(builds, unversioned)
    base = busybox()
    key = hashlib.sha256(
        repr([_identity(base), *((image, _identity(image.content)) for image in images)]).encode()
    ).hexdigest()[:12]
    file = cache_folder() / "images" / f"{key}.tar"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".unfinished")
        with tarfile.open(unfinished, "w") as tar:
            _write_layout(tar, base, images)
        unfinished.rename(file)
    return file


def _images(builds: Mapping[str, Build], unversioned: bool) -> list[Image]:
    volcano, lws, double = builds["volcano"], builds["lws"], builds["gpu-plugin-double"]
    volcano_images = [
        Image((f"docker.io/volcanosh/{name}:v{volcano.version}",), (f"/{name}",), {name: program, **more})
        for name, program in volcano.programs.items()
        for more in [_webhook_tools(builds) if name == "vc-webhook-manager" else {}]
    ]
    # The chart in the Go module still says "main", a released one its version.
    lws_tags = ["main"] * unversioned + [f"v{lws.version}"]
    lws_names = tuple(f"registry.k8s.io/lws/lws:{tag}" for tag in lws_tags)
    return [
        Image((PAUSE_IMAGE,), ("/bin/busybox", "sleep", "infinity")),
        Image((BUSYBOX_IMAGE,), ("/bin/sh",)),
        *volcano_images,
        Image(lws_names, ("/manager",), {"manager": lws.programs["lws-manager"]}, user="65532:65532"),
        Image((f"{GPU_PLUGIN_DOUBLE_IMAGE}:v{double.version}",), ("/gpu-plugin-double",), double.programs),
    ]


def _webhook_tools(builds: Mapping[str, Build]) -> Content:
    """What the chart's certificate Job runs in this image."""
    return {
        "gen-admission-secret.sh": builds["volcano"].file("gen-admission-secret.sh"),
        "bin/kubectl": builds["kubernetes"].programs["kubectl"],
        **with_libraries("openssl"),
        "usr/lib/ssl/openssl.cnf": _OPENSSL_CONFIG,
    }


# openssl req reads it even when everything is said on the command line.
_OPENSSL_CONFIG = b"[req]\ndistinguished_name = req_distinguished_name\n[req_distinguished_name]\n"


def with_libraries(program: str) -> dict[str, Path]:
    """A program of this machine and every library that it loads, each under the path at which it is looked for."""
    path = shutil.which(program)
    if path is None:
        raise LabError(f"{program} is not installed")
    libraries = [Path(word) for word in run(["ldd", path]).split() if word.startswith("/")]
    return {f"bin/{program}": Path(path), **{str(library).lstrip("/"): library.resolve() for library in libraries}}


def busybox() -> Content:
    program = shutil.which("busybox")
    if program is None:
        raise LabError("busybox is not installed")
    applets = run([program, "--list"]).split()
    return {
        "bin/busybox": Path(program),
        **{f"bin/{applet}": Link("busybox") for applet in applets if applet != "busybox"},
        "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
        "etc/group": b"root:x:0:\nnobody:x:65534:\n",
    }


def _identity(content: Content) -> list[tuple]:
    """Changes whenever the content does: builds are known by their path, the machine's own files by size and time."""
    return [(name, source, *_stamp(source)) for name, source in sorted(content.items())]


def _stamp(source: Path | Link | bytes) -> tuple:
    if isinstance(source, Path):
        status = source.stat()
        return (status.st_size, status.st_mtime_ns)
    return ()


def _write_layout(tar: tarfile.TarFile, base: Content, images: Iterable[Image]) -> None:
    """An OCI image layout, as containerd imports it."""
    blobs = _Blobs(tar)
    base_layer = blobs.add(_layer({"tmp/": b"", "root/": b"", **base}))
    index = []
    for image in images:
        layers = [base_layer]
        if image.content:
            layers.append(blobs.add(_layer(image.content)))
        manifest = blobs.add_json(_manifest(blobs, image, layers))
        for name in image.names:
            annotations = {
                "io.containerd.image.name": name,
                "org.opencontainers.image.ref.name": name.rpartition(":")[2],
            }
            index.append({"mediaType": _MANIFEST, **manifest, "annotations": annotations})
    _add_file(tar, "index.json", json.dumps({"schemaVersion": 2, "manifests": index}).encode())
    _add_file(tar, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')


_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"


def _manifest(blobs: _Blobs, image: Image, layers: list[dict]) -> dict:
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": list(image.entrypoint),
            "Env": ["PATH=/bin:/sbin:/usr/bin:/usr/sbin"],
            "WorkingDir": "/",
            "User": image.user,
        },
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
    }
    return {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": {"mediaType": _CONFIG, **blobs.add_json(config)},
        "layers": [{"mediaType": _LAYER, **layer} for layer in layers],
    }


class _Blobs:
    """The layout's content store: each blob once, by its digest."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._known: set[str] = set()

    def add(self, blob: bytes) -> dict:
        digest = hashlib.sha256(blob).hexdigest()
        if digest not in self._known:
            self._known.add(digest)
            _add_file(self._tar, f"blobs/sha256/{digest}", blob)
        return {"digest": f"sha256:{digest}", "size": len(blob)}

    def add_json(self, value: dict) -> dict:
        return self.add(json.dumps(value, sort_keys=True).encode())


def _layer(content: Content) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder in sorted({str(parent) for name in content for parent in Path(name).parents} - {"."}):
            _add_folder(tar, folder)
        for name, source in content.items():
            _add(tar, name, source)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, source: Path | Link | bytes) -> None:
    if name.endswith("/"):
        _add_folder(tar, name.rstrip("/"), mode=0o1777)
    elif isinstance(source, Link):
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = tarfile.SYMTYPE, source.target
        tar.addfile(entry)
    else:
        _add_file(tar, name, source.read_bytes() if isinstance(source, Path) else source, mode=0o755)


def _add_folder(tar: tarfile.TarFile, name: str, mode: int = 0o755) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    tar.addfile(entry)


def _add_file(tar: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))
