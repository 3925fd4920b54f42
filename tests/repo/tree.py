"""The repository as its tests see it."""

from __future__ import annotations

import ast
from pathlib import Path

from tools.release.workspace import Project, projects

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


def distributions() -> list[Project]:
    """Read the distributions of the workspace, by name of their folders."""
    return sorted(projects(ROOT), key=lambda project: project.folder)


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
