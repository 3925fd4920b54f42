"""Modules have no import cycles, imports by string counted; and imports by string only where they are allowed."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.repo.tree import ROOT, sources

# Calls that import a module by its name.
BY_NAME = {"lazy_module", "_lazy_module", "lazy_names", "_lazy_names", "import_module"}
# Modules that say where names and functions of others are, and those that are only documented paths.
TABLES = ("__init__", "wiring", "inplace")
ALIAS = "Names that stand elsewhere, at the path that the documentation has them at"
# Modules that may be imported late by name: they show graphs, time functions, or end messages; they specialise kernels,
# which few programs call; or they have ops of linear algebra, for a rule that every graph has.
LATE = (
    "treadle.graph.printing", "treadle.graph.html", "treadle.graph.html.document", "treadle.graph.html.records",
    "treadle.compile.profiling", "treadle.tensor.variables.elsewhere", "treadle.kernels.checking",
    "treadle.kernels.interpretation", "treadle.kernels.tree", "treadle.tensor.linalg.decompositions.cholesky",
    "treadle.tensor.linalg.decompositions.lu",
)  # fmt: skip


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT / "packages").with_suffix("").parts[2:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _modules() -> dict[str, Path]:
    return {_name(path): path for path in sources() if "src" in path.parts}


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return [name if (name := f"{node.module}.{a.name}") in _modules() else node.module for a in node.names]
    return []


def _named(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in BY_NAME:
        texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
        return [text for text in texts if isinstance(text, str)]
    return []


@cache
def _edges(module: str) -> tuple[set[str], set[str]]:
    """Return which of our modules a module imports by a statement, and which by name."""
    plain: set[str] = set()
    by_name: set[str] = set()
    pending: list[ast.AST] = [ast.parse(_modules()[module].read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        plain.update(_imports(node))
        by_name.update(_named(node))
        skipped = node.body if isinstance(node, ast.If) and _is_for_type_checkers(node) else []
        pending.extend(child for child in ast.iter_child_nodes(node) if child not in skipped)
    ours = _modules().keys() - {module}
    return plain & ours, by_name & ours


def test_the_walk_sees_plain_imports_and_names() -> None:
    plain, _ = _edges("treadle.tensor.shapes.shape")
    assert "treadle.tensor.ops.tensor_op" in plain
    assert "treadle.tensor.random.variables" not in plain
    _, by_name = _edges("treadle.compile.functions.maker")
    assert "treadle.compile.profiling" in by_name


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {module: set.union(*_edges(module)) for module in _modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_names_stand_for_modules_only_where_a_table_or_a_rare_need_asks_for_it() -> None:
    wrong = []
    for module, path in _modules().items():
        if path.stem in TABLES or ALIAS in path.read_text(encoding="utf-8"):
            continue
        wrong += [(module, name) for name in _edges(module)[1] if name not in LATE]
    assert wrong == []
