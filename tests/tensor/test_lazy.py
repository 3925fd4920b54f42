"""The table of modules that load late says what they hold, and so do the imports that type checkers read."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import treadle.tensor as tt
from treadle.tensor.lazy import LAZY


@pytest.mark.parametrize("module", LAZY)
def test_names_are_those_that_the_module_exports(module: str) -> None:
    exported = import_module(f"treadle.tensor.{module}").__all__
    assert LAZY[module].split() == sorted(exported)


def test_type_checkers_read_every_module_of_the_table() -> None:
    assert tt.__file__ is not None
    tree = ast.parse(Path(tt.__file__).read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    stars = [node for block in guarded for node in block.body if isinstance(node, ast.ImportFrom)]
    assert [node.module for node in stars if node.names[0].name == "*"] == [f"treadle.tensor.{m}" for m in LAZY]


def test_every_exported_name_is_found() -> None:
    assert len(set(tt.__all__)) == len(tt.__all__)
    assert all(hasattr(tt, name) for name in tt.__all__)
