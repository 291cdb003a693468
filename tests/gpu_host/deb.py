# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian packages and a signed repository of them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path

from tests.lab.shell import run, succeeds


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    fields: Mapping[str, str] = field(default_factory=dict)  # more of the control file
    files: Mapping[str, Path | str] = field(default_factory=dict)  # path on the host → a file here, or its text
    programs: Mapping[str, Path | str] = field(default_factory=dict)  # the same, made executable
    scripts: Mapping[str, str] = field(default_factory=dict)  # preinst, postinst …

    @property
    def control(self) -> str:
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": "amd64",
            "Maintainer": "kubegang contributors <maintainers@kubegang.dev>",
            **self.fields,
            "Description": "packed for the tests of kubegang.core",
        }
        return "".join(f"{key}: {value}\n" for key, value in fields.items())

    def build(self, folder: Path) -> Path:
        file = folder / f"{self.name}_{self.version.replace(':', '%3a')}_amd64.deb"
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            root = Path(scratch)
            root.chmod(0o755)
            _write(root / "DEBIAN/control", self.control, 0o644)
            for name, text in self.scripts.items():
                _write(root / "DEBIAN" / name, f"#!/bin/sh\nset -e\n{text}", 0o755)
            for mode, content in ((0o644, self.files), (0o755, self.programs)):
                for path, source in content.items():
                    _write(root / path.lstrip("/"), source, mode)
            run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", root, file])
        return file


def _write(target: Path, source: Path | str, mode: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes() if isinstance(source, Path) else source.encode())
    target.chmod(mode)


class Signer:
    """A key that exists as long as this object is in use; only its public half stays."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self._gpg = ["gpg", "--homedir", str(home), "--batch", "--yes", "--quiet", "--pinentry-mode=loopback"]
        who = "kubegang tests <maintainers@kubegang.dev>"
        run(
            [*self._gpg, "--passphrase", "", "--quick-generate-key", who, "ed25519", "sign", "never"], what="make a key"
        )

    @property
    def public(self) -> str:
        return run([*self._gpg, "--armor", "--export"], what="export the key")

    def clearsign(self, text: str) -> str:
        return run([*self._gpg, "--clearsign"], stdin=text, what="sign a repository")

    def close(self) -> None:
        succeeds(["gpgconf", "--homedir", self._gpg[2], "--kill", "all"])


def write_repository(folder: Path, packages: Sequence[Package], signer: Signer) -> None:
    """A flat repository, in the form in which NVIDIA publishes: one folder with packages, their list and its signature."""
    folder.mkdir(parents=True)
    listing = "\n".join(_entry(package, package.build(folder)) for package in packages)
    (folder / "Packages").write_text(listing)
    digest = hashlib.sha256(listing.encode()).hexdigest()
    release = (
        f"Origin: kubegang\nDate: {formatdate(usegmt=True)}\nSHA256:\n {digest} {len(listing.encode())} Packages\n"
    )
    (folder / "InRelease").write_text(signer.clearsign(release))


def _entry(package: Package, file: Path) -> str:
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return f"{package.control}Filename: ./{file.name}\nSize: {len(content)}\nSHA256: {digest}\n"
