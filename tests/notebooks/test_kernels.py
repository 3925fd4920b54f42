"""Every notebook runs in a real kernel and shows what its page says; run by ./dev notebooks."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING, Any

import pytest

from tools.notebooks import PAGES, lab
from tools.notebooks.cells import Cell, cells

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.notebooks

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CHECKER = doctest.OutputChecker()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let Jupyter keep its files in a folder of the test."""
    for name, value in lab.environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    return tmp_path


def executed(book: Any, folder: Path) -> list[Any]:
    """Run a notebook in a kernel of its own, and return its cells of code."""
    from nbclient import NotebookClient

    NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return [cell for cell in book.cells if cell.cell_type == "code"]


def printed(cell: Any) -> str:
    """Return what a cell printed and showed, as text."""
    parts = []
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            parts.append(output.text)
        elif output.output_type == "execute_result":
            parts.append(output.data["text/plain"] + "\n")
    return "".join(parts)


def raised(cell: Any) -> list[str]:
    return [output.ename for output in cell.outputs if output.output_type == "error"]


def as_stated(stated: Cell, cell: Any) -> bool:
    """Whether a cell shows what the page says, or raises it."""
    if stated.error is not None:
        return raised(cell) == [stated.error]
    text = printed(cell)
    return raised(cell) == [] and (text == stated.want or CHECKER.check_output(stated.want, text, FLAGS))


@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_shows_what_its_page_states(name: str, home: Path) -> None:
    from tools.notebooks.writing import notebook

    ran = executed(notebook(name), home)
    stated = [cell for cell in cells(name) if cell.kind == "code"]
    differing = [
        (page.text, page.want, printed(cell), raised(cell))
        for page, cell in zip(stated, ran, strict=True)
        if not as_stated(page, cell)
    ]
    assert differing == []


def test_notebooks_that_are_written_can_be_read_and_are_the_same_each_time(tmp_path: Path) -> None:
    import nbformat

    from tools.notebooks.writing import write

    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        write(folder)
    texts = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert sorted(texts) == sorted(f"{name.rpartition('/')[2]}.ipynb" for name in PAGES)
    assert {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()} == texts
    for path in (tmp_path / "one").iterdir():
        nbformat.validate(nbformat.read(path, as_version=4))


# Where a cell's output goes when standard output was replaced, by the program or by a library.
PRINTING = """\
import contextlib, io, sys
import treadle.tensor as tt
x = tt.dvector("x")
y = tt.exp(x)
tt.debugprint(y)
---
y.dprint()
---
stored = io.StringIO()
with contextlib.redirect_stdout(stored):
    tt.debugprint(y, file=None)
stored.getvalue()
---
tt.debugprint(y, file=sys.stdout);
---
print("from", file=sys.stdout)
tt.debugprint(y, file=None)
"""
TREE = "Exp [id A]\n └─ x [id B]\n"


def test_debugprint_prints_into_its_cell_once(home: Path) -> None:
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in PRINTING.split("---\n")])
    shown = [printed(cell) for cell in executed(book, home)]
    assert shown == [TREE, TREE, repr(TREE) + "\n", TREE, f"from\n{TREE}"]
