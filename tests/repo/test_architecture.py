"""docs/architecture.md names packages and modules that exist."""

import re
import tomllib
from pkgutil import resolve_name

import pytest

from tests.repo.tree import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`(treadle\.[\w.]*\w)`", PAGE)))
ENTRY_POINTS = {
    "treadle.awaits",
    "treadle.backends",
    "treadle.databases",
    "treadle.generators",
    "treadle.linker_methods",
    "treadle.linkers",
    "treadle.names",
    "treadle.op_bases",
    "treadle.options",
    "treadle.program_attributes",
    "treadle.rules",
    "treadle.types",
}


@pytest.mark.parametrize("name", [name for name in NAMED if name not in ENTRY_POINTS])
def test_module_that_the_page_names_exists(name: str) -> None:
    assert resolve_name(name) is not None


def test_page_follows_a_function_through_every_package() -> None:
    packages = {"config", "cache", "graph", "link.vm", "rewrite", "tensor", "compile", "link.c", "link.numba"}
    assert all(any(name.startswith(f"treadle.{package}") for name in NAMED) for package in packages - {"config"})


def test_page_lists_the_rooms_in_the_order_that_imports_may_take() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "rooms")
    inits = [path for path in ROOT.glob("packages/*/src/treadle/tensor/*/__init__.py") if "surface" not in str(path)]
    folders = {path.parent.name for path in inits}
    ordered = [layer for layer in reversed(layers) if layer in folders]
    assert [row for row in rows if row in folders] == ordered
    assert set(ordered) == folders
