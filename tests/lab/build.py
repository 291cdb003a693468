# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the lab's programs from their Go modules, each version once, into a cache outside the repository."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from .components import COMPONENTS, Component
from .errors import LabError
from .lock import exclusively
from .progress import say
from .toolchain import Go
from .versions import go_version

OWN_MODULES = Path(__file__).with_name("go")
# Needed while everything is compiled cold: module sources, Go's own build cache and the programs themselves.
COLD_BUILD_BYTES = 12 * 2**30


@dataclass(frozen=True)
class Build:
    """One component at one version, as it lies in the cache."""

    component: str
    version: str
    folder: Path

    @property
    def programs(self) -> dict[str, Path]:
        return {name: self.folder / name for name in COMPONENTS[self.component].programs}

    def file(self, name: str) -> Path:
        return self.folder / name


def cache_folder() -> Path:
    """Where built programs and images are kept: a second start on the same machine builds nothing."""
    explicit = os.environ.get("KUBEGANG_LAB_CACHE")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubegang-lab"


def ensure(versions: dict[str, str]) -> dict[str, Build]:
    """Component → its build; only what is missing is built."""
    builds = {name: planned(name, versions[name]) for name in COMPONENTS}
    if all(build.folder.exists() for build in builds.values()):
        return builds
    with exclusively(cache_folder() / "lock", "building"):
        missing = [build for build in builds.values() if not build.folder.exists()]
        _build_all(missing)
    return builds


def _build_all(missing: list[Build]) -> None:
    if missing:
        _require_disk(cache_folder())
        _remove_interrupted()
        go = Go(cache_folder())
    for number, build in enumerate(missing, start=1):
        label = f"{build.component} {build.version} ({number} of {len(missing)})"
        say(f"building {label} …")
        started = time.monotonic()
        _build(go, build)
        say(f"built {label} in {time.monotonic() - started:.0f} s")


def planned(name: str, version: str) -> Build:
    key = hashlib.sha256(json.dumps(_recipe(name, version), sort_keys=True).encode()).hexdigest()[:12]
    return Build(name, version, cache_folder() / "builds" / f"{name}-{version}-{key}")


def _recipe(name: str, version: str) -> dict:
    """Everything that decides what comes out: when any of it changes, the component is built again."""
    component = COMPONENTS[name]
    own = own_module(component, version)
    inputs = {path.name: path.read_text() for path in sorted(own.iterdir())} if own else {}
    return {
        "go": go_version(),
        "version": version,
        "component": asdict(component),
        "module": inputs,
        "flags": _flags(component, version),
    }


def own_module(component: Component, version: str) -> Path | None:
    """The folder under go/ that is the component's module, or whose go.mod requires it at this version, if there is one."""
    module = re.escape(component.module)
    line = re.compile(rf"^(module {module}|(require )?\s*{module} v{re.escape(version)}( //.*)?)$", re.MULTILINE)
    return next((path.parent for path in sorted(OWN_MODULES.glob("*/go.mod")) if line.search(path.read_text())), None)


def _flags(component: Component, version: str) -> list[str]:
    major, minor = version.split(".")[:2]
    settings = [f"-X {variable}=v{version}" for variable in component.version_variables]
    for variable in component.version_variables:
        if variable.endswith(".gitVersion"):
            package = variable.removesuffix(".gitVersion")
            settings += [f"-X {package}.gitMajor={major}", f"-X {package}.gitMinor={minor}"]
    return ["-trimpath", "-ldflags", " ".join(["-s", "-w", *settings])]


def _build(go: Go, build: Build) -> None:
    """Built beside its place and moved there whole, so that an interrupted build is never taken for a finished one."""
    component = COMPONENTS[build.component]
    what = f"build {build.component} {build.version}"
    own = own_module(component, build.version)
    build.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{build.component}-", dir=build.folder.parent) as scratch:
        result = Path(scratch, "result")
        result.mkdir()
        module = _workspace(go, own, Path(scratch)) if own else _source(go, build, what)
        for program, package in component.programs.items():
            target = "/".join(filter(None, [component.module, package]))
            go("build", *_flags(component, build.version), "-o", result / program, target, cwd=module, what=what)
        for name, inside in component.files.items():
            _copy(_source(go, build, what) / inside, result / name)
        result.rename(build.folder)


def _source(go: Go, build: Build, what: str) -> Path:
    """The component's own module, in the module cache."""
    module = f"{COMPONENTS[build.component].module}@v{build.version}"
    return Path(json.loads(go("mod", "download", "-json", module, what=what))["Dir"])


def _remove_interrupted() -> None:
    for scratch in (cache_folder() / "builds").glob(".*"):
        shutil.rmtree(scratch)


def _workspace(go: Go, own: Path, scratch: Path) -> Path:
    """A copy of our own module to build in, with the overlaid files added to the modules that need them."""
    module = scratch / "module"
    shutil.copytree(own, module)
    for patch in sorted(module.glob("*.patch.json")):
        _add_missing_files(go, module, json.loads(patch.read_text()))
    return module


def _add_missing_files(go: Go, module: Path, patch: dict) -> None:
    """A module that lacks something is copied, completed and used instead: the module cache itself is read-only."""
    found = json.loads(go("mod", "download", "-json", f"{patch['module']}@{patch['version']}", cwd=module))
    copy = module / "completed" / patch["module"]
    _copy(Path(found["Dir"]), copy)
    for name, text in patch["files"].items():
        (copy / name).write_text(text)
    go("mod", "edit", "-replace", f"{patch['module']}=./{copy.relative_to(module)}", cwd=module)


def _copy(source: Path, target: Path) -> None:
    """Like cp -r, but writable: files of the module cache are not."""
    if source.is_file():
        target.write_bytes(source.read_bytes())
        return
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for folder, _folders, _files in os.walk(target):
        os.chmod(folder, 0o755)


def _require_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < COLD_BUILD_BYTES:
        raise LabError(
            f"{folder} has {free / 2**30:.1f} GiB free and a build needs {COLD_BUILD_BYTES / 2**30:.0f}: "
            "make room or set KUBEGANG_LAB_CACHE to another disk"
        )
