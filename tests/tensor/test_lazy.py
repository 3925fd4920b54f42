"""The table of modules that load late says what they hold, and so do the imports that type checkers read."""

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import treadle.tensor as tt
from treadle.tensor import linalg
from treadle.tensor.lazy import LAZY, LINALG

TABLES = {tt: LAZY, linalg: LINALG}
ROWS = [(package.__name__, module, names) for package, table in TABLES.items() for module, names in table.items()]


@pytest.mark.parametrize(("package", "module", "names"), ROWS)
def test_names_are_those_that_the_module_exports(package: str, module: str, names: str) -> None:
    exported = import_module(f"{package}.{module}").__all__
    assert names.split() == sorted(exported)


@pytest.mark.parametrize("package", TABLES, ids=lambda package: package.__name__)
def test_type_checkers_read_every_module_of_the_table(package: ModuleType) -> None:
    assert package.__file__ is not None
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    stars = [node for block in guarded for node in block.body if isinstance(node, ast.ImportFrom)]
    found = [node.module for node in stars if node.names[0].name == "*" and node.module != "treadle.tensor"]
    assert found == [f"{package.__name__}.{module}" for module in TABLES[package]]


@pytest.mark.parametrize("package", TABLES, ids=lambda package: package.__name__)
def test_every_exported_name_is_found(package: ModuleType) -> None:
    assert len(set(package.__all__)) == len(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)
