"""The repository as its tests see it."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
# What tools and ./dev leave in a checkout; everything else is the repository.
LEFTOVERS = {"wheelhouse", "dist", "build", "output", "results", "shared", "node_modules"}
TEXT = {
    "",
    ".c",
    ".cfg",
    ".h",
    ".ini",
    ".json",
    ".lock",
    ".md",
    ".py",
    ".sha256",
    ".sh",
    ".toml",
    ".tsv",
    ".txt",
    ".yaml",
}


def files(*suffixes: str) -> list[Path]:
    """List the repository's files with one of the suffixes, in a fixed order."""
    paths: list[Path] = []
    pending = [ROOT]
    while pending:
        for path in pending.pop().iterdir():
            if path.is_dir():
                hidden = path.name.startswith(".") and path.name != ".ci"
                if not hidden and path.name not in LEFTOVERS | {"__pycache__"} and path.suffix != ".egg-info":
                    pending.append(path)
            elif path.suffix in suffixes:
                paths.append(path)
    return sorted(paths)


def sources() -> list[Path]:
    """List the Python files of the distributions."""
    return [path for path in files(".py") if path.is_relative_to(ROOT / "packages")]


def shown(path: Path) -> str:
    """Return a path as it is shown to people."""
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Distribution:
    """One folder of packages/, with its pyproject.toml."""

    folder: Path
    pyproject: dict[str, Any]

    @property
    def name(self) -> str:
        """The distribution's name."""
        return str(self.pyproject["project"]["name"])

    @property
    def modules(self) -> list[str]:
        """The import paths that the distribution brings."""
        settings = self.pyproject["tool"]["uv"]["build-backend"]
        declared = settings["module-name"]
        if settings.get("namespace", False):
            # It says only below which one its modules are.
            return _modules_below(self.folder / "src")
        return [declared] if isinstance(declared, str) else list(declared)

    @property
    def packages(self) -> list[str]:
        """The import paths that lie in a namespace package."""
        return [module for module in self.modules if module.count(".") == 1 + module.startswith("treadle.link.")]

    @property
    def requirements(self) -> list[str]:
        """All requirements, those of the extras included."""
        project = self.pyproject["project"]
        extras = [entry for entries in project.get("optional-dependencies", {}).values() for entry in entries]
        return [*project["dependencies"], *extras]


def _modules_below(folder: Path) -> list[str]:
    """List the packages with an ``__init__.py``, and the modules in others' packages."""
    modules = []
    for path in sorted(folder.rglob("*.py")):
        if path.name == "__main__.py":  # it is run, and not imported
            continue
        place = path.parent if path.name == "__init__.py" else path.with_suffix("")
        if not any((parent / "__init__.py").exists() for parent in place.parents if parent != folder.parent):
            modules.append(".".join(place.relative_to(folder).parts))
    return modules


def distributions() -> list[Distribution]:
    """Read the distributions of the workspace, by name."""
    paths = sorted(ROOT.glob("packages/*/pyproject.toml"))
    return [Distribution(path.parent, tomllib.loads(path.read_text(encoding="utf-8"))) for path in paths]


def imported_modules(path: Path) -> set[str]:
    """List what a file imports anywhere, in functions and for types too, by full module name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names
