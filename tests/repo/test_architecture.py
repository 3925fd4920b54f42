"""docs/architecture.md names packages and modules that exist."""

import re
from pkgutil import resolve_name

import pytest

from tests.repo.tree import ROOT

NAMED = sorted(set(re.findall(r"`(treadle\.[\w.]*\w)`", (ROOT / "docs" / "architecture.md").read_text())))
ENTRY_POINTS = {
    "treadle.backends",
    "treadle.databases",
    "treadle.linker_methods",
    "treadle.linkers",
    "treadle.names",
    "treadle.op_bases",
    "treadle.options",
    "treadle.rules",
    "treadle.types",
}


@pytest.mark.parametrize("name", [name for name in NAMED if name not in ENTRY_POINTS])
def test_module_that_the_page_names_exists(name: str) -> None:
    assert resolve_name(name) is not None


def test_page_follows_a_function_through_every_package() -> None:
    packages = {"config", "cache", "graph", "link.vm", "rewrite", "tensor", "compile", "link.c", "link.numba"}
    assert all(any(name.startswith(f"treadle.{package}") for name in NAMED) for package in packages - {"config"})
