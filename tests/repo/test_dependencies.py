"""A distribution declares what it imports."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.repo.tree import distributions, imported_modules
from tools.release.workspace import Project

ALL = distributions()
# Requirements that the code must not import: installing compile alone gives a working system.
NOT_TO_IMPORT = {
    "compile": {
        *("tensor", "linalg", "neural", "optimize", "random", "signal", "sparse-tensors", "pytensor-surface"),
        *("link-array-api", "link-c", "link-jax", "link-numba", "link-torch"),
    },
}

# Type checkers bring it themselves; nothing imports it when it runs (test_imports.py).
FOR_TYPE_CHECKERS = {"typing_extensions"}


def required_names(item: Project) -> set[str]:
    """List the distributions that `item` declares, without versions."""
    return {re.split(r"[\[<>=!~; ]", entry, maxsplit=1)[0].lower() for entry in item.declared_requirements}


@cache
def owner(module: str) -> str | None:
    """Find the distribution that brings an imported module; None for the standard library."""
    ours = [(path, item.name) for item in ALL for path in item.modules if f"{module}.".startswith(f"{path}.")]
    if ours:
        return max(ours)[1]
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in {"treadle", "__future__"} | FOR_TYPE_CHECKERS:
        return None
    distributions = _distributions_by_module().get(top, [top])
    return distributions[0].lower().replace("_", "-")


@cache
def _distributions_by_module() -> Mapping[str, list[str]]:
    return packages_distributions()


@pytest.mark.parametrize("item", ALL, ids=[item.name for item in ALL])
def test_every_imported_distribution_is_declared(item: Project) -> None:
    allowed = required_names(item) - NOT_TO_IMPORT.get(item.name, set()) | {item.name}
    paths: list[Path] = sorted(item.folder.glob("src/**/*.py"))
    if item.name == "tensor":
        # It tells type checkers, and nobody else, which names other distributions add to it.
        paths.remove(item.folder / "src/treadle/tensor/__init__.py")
    used = {(path.name, owner(module)) for path in paths for module in imported_modules(path)}
    assert {(name, distribution) for name, distribution in used if distribution not in allowed | {None}} == set()


@pytest.mark.parametrize("item", ALL, ids=[item.name for item in ALL])
def test_requirements_on_our_packages_name_their_own_major_version(item: Project) -> None:
    majors = {other.name: int(other.pyproject["project"]["version"].partition(".")[0]) for other in ALL}
    ours = [entry for entry in item.declared_requirements if re.split(r"[<>=]", entry)[0] in majors]
    for entry in ours:
        name, floor, ceiling = re.fullmatch(r"([a-z-]+)>=(\d+)\.0,<(\d+)", entry).groups()  # type: ignore[union-attr]
        assert (int(floor), int(ceiling)) == (majors[name], majors[name] + 1)


def test_versions_are_above_those_of_the_other_projects_with_these_names() -> None:
    major = {item.name: item.pyproject["project"]["version"].partition(".")[0] for item in ALL}
    assert (major.pop("compile"), major.pop("linalg")) == ("2", "2")
    assert set(major.values()) == {"1"}
