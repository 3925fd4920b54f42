"""No core package names a backend: installed backends are found by their entry points."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.repo.tree import ROOT
from treadle.compile import BACKENDS
from treadle.config import LINKER_REQUIREMENTS

CORE = ("config", "compile-cache", "graph-core", "rewrite", "tensor", "compile")
# What an error says of treadle's own distributions that are not installed: data, in one table.
TABLE = ROOT / "packages/config/src/treadle/config/owners.py"


def forbidden() -> re.Pattern[str]:
    """Return the pattern that no core package may match: names of linkers, modules and libraries of backends."""
    # The array API is a standard, which treadle.tensor follows itself.
    names = {*LINKER_REQUIREMENTS, *BACKENDS.libraries(), "torch", "link-c", "treadle.link.c"} - {"c", "array_api"}
    return re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, sorted(names)))})(?![\w.])", re.IGNORECASE)


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names and texts of a module, docstrings left out, with their lines."""
    docs = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docs:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.alias):
            yield node.lineno, node.name


@pytest.mark.parametrize("package", CORE)
def test_core_package_names_no_backend(package: str) -> None:
    pattern = forbidden()
    places = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / "packages" / package / "src").rglob("*.py"))
        if path != TABLE
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")))
        if pattern.search(text)
    ]
    assert places == []
