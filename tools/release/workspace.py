"""The distributions of a workspace: what pyproject.toml and CHANGELOG.md say of them, and their order of dependency."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)
# What tools leave in a folder of sources; no archive holds it.
LEFTOVERS = {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}


class ReleaseError(Exception):
    """Nothing can be released; the message is a sentence for the user."""


@dataclass(frozen=True)
class Project:
    """One distribution: its folder, and what its pyproject.toml says."""

    folder: Path

    @cached_property
    def pyproject(self) -> dict[str, Any]:
        """The content of pyproject.toml."""
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))

    @property
    def metadata(self) -> dict[str, Any]:
        """The table ``[project]``."""
        project: dict[str, Any] = self.pyproject["project"]
        return project

    @property
    def name(self) -> str:
        """The name, as pyproject.toml has it."""
        return str(self.metadata["name"])

    @property
    def version(self) -> str:
        """The version."""
        return str(self.metadata["version"])

    @property
    def stem(self) -> str:
        """What the names of its archives begin with."""
        return f"{canonicalize_name(self.name).replace('-', '_')}-{self.version}"

    @property
    def requirements(self) -> list[Requirement]:
        """What every installation needs."""
        return [Requirement(entry) for entry in self.metadata.get("dependencies", ())]

    @property
    def extras(self) -> dict[str, list[str]]:
        """What each extra needs besides, as pyproject.toml writes it."""
        declared: dict[str, list[str]] = self.metadata.get("optional-dependencies", {})
        return declared

    @property
    def declared_requirements(self) -> list[str]:
        """All requirements as pyproject.toml writes them, those of the extras included."""
        entries = self.metadata.get("dependencies", ())
        return [*entries, *(entry for listed in self.extras.values() for entry in listed)]

    @property
    def build_settings(self) -> dict[str, Any]:
        """The table ``[tool.uv.build-backend]``."""
        settings: dict[str, Any] = self.pyproject["tool"]["uv"]["build-backend"]
        return settings

    def sources(self) -> dict[str, Path]:
        """Return the files that an installation has, by their paths below site-packages."""
        root = self.folder / "src"
        files = {
            path.relative_to(root).as_posix(): path
            for module in self._packed()
            for path in _files(root / module.replace(".", "/"))
        }
        for place in self.build_settings.get("data", {}).values():
            files |= {path.relative_to(self.folder / place).as_posix(): path for path in _files(self.folder / place)}
        return files

    def _packed(self) -> list[str]:
        """Return the import paths that the build backend is told to pack."""
        declared = self.build_settings["module-name"]
        return [declared] if isinstance(declared, str) else list(declared)

    @cached_property
    def modules(self) -> list[str]:
        """The import paths that the distribution brings: packages, and modules in packages of others."""
        if not self.build_settings.get("namespace", False):
            return self._packed()
        # pyproject.toml says only below which one its modules are; what runs by `python -m` is not imported.
        names = {path for path in self.sources() if path.endswith(".py") and not path.endswith("__main__.py")}
        packages = {path.removesuffix("/__init__.py") for path in names if path.endswith("/__init__.py")}
        places = packages | {path.removesuffix(".py") for path in names if not path.endswith("/__init__.py")}
        outermost = [place for place in places if not any(place.startswith(f"{package}/") for package in packages)]
        return sorted(place.replace("/", ".") for place in outermost)

    @property
    def packages(self) -> list[str]:
        """Those of its modules that lie in a namespace package, and so in no other distribution's."""
        return [module for module in self.modules if module == outermost_package(module)]


def outermost_package(module: str) -> str:
    """Return the part of an import path below the namespace packages ``treadle`` and ``treadle.link``."""
    return ".".join(module.split(".")[: 3 if module.startswith("treadle.link.") else 2])


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, without what tools leave there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not LEFTOVERS & set(path.parts) and path.suffix not in {".pyc", ".pyo"}:
            yield path


def projects(root: Path) -> list[Project]:
    """Read the distributions of the workspace at `root`, in order of dependency.

    Raises
    ------
    ReleaseError
        If there is none, or if distributions need one another in a circle.
    """
    every = [Project(path.parent) for path in sorted(root.glob("packages/*/pyproject.toml"))]
    if not every:
        msg = f"release: {root} has no packages/*/pyproject.toml. Run ./dev release in a checkout of treadle."
        raise ReleaseError(msg)
    return in_order(every)


def in_order(every: Sequence[Project]) -> list[Project]:
    """Sort distributions so that each comes after those that it needs, extras left aside.

    Raises
    ------
    ReleaseError
        If distributions need one another in a circle, or two have one name.
    """
    by_name = {str(canonicalize_name(project.name)): project for project in every}
    if len(by_name) < len(every):
        names = sorted(canonicalize_name(project.name) for project in every)
        twice = next(name for name, following in pairwise(names) if name == following)
        msg = f"release: two folders of packages/ have the name {twice!r} in their pyproject.toml. Rename one."
        raise ReleaseError(msg)
    needed = {
        name: sorted({str(canonicalize_name(entry.name)) for entry in project.requirements} & set(by_name))
        for name, project in by_name.items()
    }
    try:
        return [by_name[name] for name in TopologicalSorter(needed).static_order()]
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        msg = f"release: distributions need one another in a circle, {circle}. Make one of these an extra, or drop it."
        raise ReleaseError(msg) from None


def required(project: Project, every: Sequence[Project]) -> list[Project]:
    """Return a distribution and those of `every` that its installation brings along, extras left aside."""
    by_name = {str(canonicalize_name(other.name)): other for other in every}
    brought, pending = [project], [project]
    while pending:
        names = [str(canonicalize_name(entry.name)) for entry in pending.pop().requirements]
        new = [by_name[name] for name in names if name in by_name and by_name[name] not in brought]
        brought += new
        pending += new
    return brought


def chosen(every: Sequence[Project], names: Sequence[str]) -> list[Project]:
    """Return the distributions called `names`, in their order; all where none is named.

    Raises
    ------
    ReleaseError
        If there is no distribution of a name.
    """
    known = [project.name for project in every]
    for name in names:
        if name not in known:
            msg = f"release: there is no package {name!r}. There are {', '.join(sorted(known))}."
            raise ReleaseError(msg)
    return [project for project in every if not names or project.name in names]


# ---------------------------------------------------------------- lists of changes


@dataclass(frozen=True, slots=True)
class Changes:
    """A CHANGELOG.md: its headings with the lines below them."""

    sections: dict[str, list[str]]

    @classmethod
    def read(cls, path: Path) -> Changes:
        """Read a file; one that is not there has no sections."""
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        parts = _HEADING.split(text)[1:]
        return cls(
            {
                heading: [line for line in body.splitlines() if line.startswith("- ")]
                for heading, body in zip(parts[::2], parts[1::2], strict=True)
            }
        )

    @property
    def unreleased(self) -> list[str]:
        """The changes that no version has yet."""
        return self.sections.get("Unreleased", [])

    def faults(self, version: str) -> Iterator[str]:
        """Yield what is wrong for a distribution of this version."""
        versions = [heading.split()[0] for heading in self.sections if heading != "Unreleased"]
        if version not in versions:
            yield f"CHANGELOG.md has no section `## {version}`, the version of pyproject.toml"
        if versions != sorted(versions, key=Version, reverse=True):
            yield f"CHANGELOG.md has its versions in another order than newest first: {', '.join(versions)}"
        if versions and Version(versions[0]) > Version(version):
            yield f"CHANGELOG.md describes {versions[0]}, and the version of pyproject.toml is {version}"
        for heading, lines in self.sections.items():
            if not lines and heading != "Unreleased":
                yield f"CHANGELOG.md says nothing of {heading}"
