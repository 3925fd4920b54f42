"""The pages of docs/ make one site: each is in the tables of contents, and what pages link to is there.

These read the files; `./dev docs` builds the site with Sphinx, with warnings as errors, and so does the slow test here.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.repo.tree import ROOT
from tools import names
from tools.site import changelogs, gallery, inventory
from tools.site.docstrings import Docstring
from treadle.tensor.lazy import SUBMODULES

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("**/*.md"))
# Folders of pages that are written when the site is built.
GENERATED = ("gallery/", "changelogs/", "reference/generated/")
_TOCTREE = re.compile(r"^:::\{toctree\}\n(.*?)^:::", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_ROLE = re.compile(r"\{py:\w+\}`([\w.]+)`")


def name(page: Path) -> str:
    return page.relative_to(DOCS).with_suffix("").as_posix()


def prose(page: Path) -> str:
    """Return a page without its blocks of code and its code in running text."""
    return re.sub(r"(?<!\})``?[^`\n]+``?", "", _FENCED.sub("", page.read_text(encoding="utf-8")))


def resolved(page: Path, target: str) -> str:
    """Return a path relative to a page as one below docs/, with .. where it leads out of there."""
    parts: list[str] = []
    for part in [*page.relative_to(DOCS).parent.parts, *target.split("/")]:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def contents(page: Path) -> list[str]:
    """Return the names of the pages in the tables of contents of a page."""
    lines = [line for table in _TOCTREE.findall(page.read_text(encoding="utf-8")) for line in table.splitlines()]
    return [resolved(page, line) for line in lines if line and not line.startswith(":")]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#{1,4} (.+)$", _FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_one_table_of_contents() -> None:
    listed = [entry for page in PAGES for entry in contents(page)]
    # Pages about single errors hang below the page of all errors, which is written when the site is built.
    written = [entry for entry in listed if not entry.startswith((*GENERATED, "errors/"))]
    own = {name(page) for page in PAGES if page.parent != DOCS / "errors"} - {"index"}
    assert sorted(written) == sorted(own), "a page belongs into one table of contents: `:::{toctree}` in an index.md"


def test_generated_pages_in_tables_of_contents_are_written() -> None:
    listed = {entry for page in PAGES for entry in contents(page) if entry.startswith(GENERATED)}
    assert listed == {"gallery/index", "changelogs/index", "reference/generated/modules", "reference/generated/errors"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    examples = {path.stem for path in gallery.EXAMPLES.glob("*.py")}
    wrong = []
    for path, anchor in _LINK.findall(prose(page)):
        target = resolved(page, path) if path else page.relative_to(DOCS).as_posix()
        if target.startswith(GENERATED):
            stem = Path(target).stem
            found = stem in examples | {"index", "modules", "errors"} and not anchor
        else:
            file = DOCS / target
            found = file.exists() and (not anchor or file.suffix != ".md" or anchor[1:] in anchors(file))
        if not found:
            wrong.append(path + anchor)
    assert wrong == []


def test_names_that_pages_refer_to_are_public() -> None:
    named = {path for page in PAGES for path in _ROLE.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 5
    # Names are not asked for: some would load JAX and PyTorch.
    modules = {path: path.rpartition(".")[0] for path in named}
    assert set(modules.values()) <= set(inventory.MODULES)
    assert [path for path in named if path.rpartition(".")[2] not in import_module(modules[path]).__all__] == []


def test_every_module_with_functions_of_tensors_is_in_the_reference() -> None:
    packages = {f"treadle.tensor.{room}" for room in (*names.rooms(), *SUBMODULES)}
    assert packages | {"treadle.tensor", "treadle.compile", "treadle.graph"} <= set(inventory.MODULES)


@pytest.mark.parametrize("path", inventory.MODULES)
def test_every_module_of_the_reference_says_what_it_offers(path: str) -> None:
    assert inventory.public_names(import_module(path))


@pytest.mark.slow
def test_every_function_of_tensors_has_an_entry_in_the_reference() -> None:
    from tools import ops

    entries = {
        f"{entry.module}.{alias}" for page in inventory.pages() for entry in page.entries for alias in entry.names
    }
    elsewhere = {f"{page.module}.{alias}" for page in inventory.pages() for alias in page.others}
    assert len(entries) > 2000
    assert [path for path in ops.functions() if f"treadle.tensor.{path}" not in entries | elsewhere] == []
    assert set(inventory.targets().values()) <= entries


def test_every_example_and_every_distribution_has_its_page(tmp_path: Path) -> None:
    for write in (gallery.write, changelogs.write):
        (tmp_path / write.__module__).mkdir()
        write(tmp_path / write.__module__)
    written = {path.stem for path in tmp_path.glob("*/*.rst")}
    assert {path.stem for path in gallery.EXAMPLES.glob("*.py")} <= written
    assert {path.parent.name for path in ROOT.glob("packages/*/pyproject.toml")} <= written


def test_a_docstring_becomes_a_page() -> None:
    text = """Sum of `x` over **all** axes, as `total` does it.

    Parameters
    ----------
    x : tensor
        A tensor; ``x_`` too.
    *more, total
        Others.

    Raises
    ------
    ShapeError
        If it does not fit.

    Examples
    --------
    >>> f(1)
    1
    """
    lines = list(Docstring(text, {"total": "a.total", "x": "a.x", "ShapeError": "a.ShapeError"}.get).lines())
    assert lines == [
        r"Sum of ``x`` over \*\*all\*\* axes, as ``total`` does it.",
        *("", ".. rubric:: Parameters", "", "``x``: tensor", "   A tensor; ``x_`` too.", ""),
        *("``*more``, ``total``", "   Others.", ""),
        *(".. rubric:: Raises", "", ":py:obj:`ShapeError <a.ShapeError>`", "   If it does not fit.", ""),
        *(".. rubric:: Examples", "", ".. code-block:: pycon", "", "   >>> f(1)", "   1", ""),
    ]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="./dev docs installs Sphinx")
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere() -> None:
    done = subprocess.run([sys.executable, "-m", "tools.site"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loads = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*")
    pages = sorted((ROOT / "site" / "html").glob("**/*.html"))
    assert len(pages) > 100
    assert [found for page in pages for found in loads.findall(page.read_text(encoding="utf-8"))] == []
