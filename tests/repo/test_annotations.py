"""Few annotations say Any: what mypy checks in strict mode is then checked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo.tree import distributions
from tools.release.workspace import Project

# Percent of a distribution's annotations that may say Any.
LIMIT = 5
# What programs written for PyTensor hand over, and read off nodes of its layout, is whatever they have.
# The words of kernels take and return numbers of any kind, as a function of Python does.
# Arrays of whatever library follows the array API have no type in common.
LIMITS = {"as-pytensor": 10, "kernel-language": 17, "link-array-api": 10}


def annotations_of(path: Path) -> Iterator[ast.expr]:
    """Yield the annotations of arguments, results and variables; those in quotes as what they say."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        annotations: list[ast.expr | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            annotations = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            annotations = [node.returns]
        for each in annotations:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield ast.parse(each.value, mode="eval").body
            elif each is not None:
                yield each


def says_any(annotation: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(annotation))


def by_package() -> dict[str, list[Project]]:
    """Return the distributions; those that bring rooms of treadle.tensor together with tensor, whose package it is."""
    together: dict[str, list[Project]] = {}
    for item in distributions():
        brings_rooms = all(module.startswith("treadle.tensor.") for module in item.modules)
        together.setdefault("tensor" if brings_rooms else item.name, []).append(item)
    return together


@pytest.mark.parametrize("name", by_package())
def test_few_annotations_say_any(name: str) -> None:
    paths = [path for item in by_package()[name] for path in item.folder.glob("src/**/*.py")]
    any_said = [says_any(each) for path in paths for each in annotations_of(path)]
    assert 100 * sum(any_said) <= LIMITS.get(name, LIMIT) * len(any_said)
