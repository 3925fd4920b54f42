"""Few annotations say Any: what mypy checks in strict mode is then checked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo.tree import Distribution, distributions

# Percent of a distribution's annotations that may say Any.
LIMIT = 5


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


@pytest.mark.parametrize("item", distributions(), ids=lambda item: item.name)
def test_few_annotations_say_any(item: Distribution) -> None:
    any_said = [says_any(each) for path in item.folder.glob("src/**/*.py") for each in annotations_of(path)]
    assert 100 * sum(any_said) <= LIMIT * len(any_said)
