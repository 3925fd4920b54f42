"""What a notebook shows, in a real JupyterLab in a real browser; run by ./dev notebooks."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

from tools.browser import INSTALL, Browser, chromium
from tools.notebooks import lab

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.notebooks,
    pytest.mark.skipif(importlib.util.find_spec("jupyterlab") is None, reason="./dev notebooks installs JupyterLab"),
    pytest.mark.skipif(chromium() is None, reason=INSTALL),
]

# Compiles for several seconds on any machine: many nodes that are all different.
LONG = """\
import treadle.tensor as tt
v = tt.dvector("v")
total = v
for k in range(1500):
    total = tt.tanh(total * (1 + k / 7) + tt.sin(v[k:]).sum())
long = tt.function([v], total, name="long_one")
"""
PROGRESS = "document.querySelector('.jp-OutputArea progress')"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    """The notebook of the page about notebooks, with a long compilation at its end; all of its cells were run."""
    import nbformat

    from tools.notebooks.writing import notebook

    folder = tmp_path_factory.mktemp("notebooks")
    book = notebook("guide/notebooks")
    book.cells.append(nbformat.v4.new_code_cell(LONG, id="long"))
    nbformat.write(book, folder / "shown.ipynb")
    with lab.served(folder) as address, Browser(1200, 1000, network=True) as browser:
        yield lab.Lab(browser, address, "shown.ipynb")
        outside = [each for each in browser.requests if not each.startswith((address, "data:", "blob:", "about:"))]
        assert [each for each in outside if not each.startswith(address.replace("http", "ws"))] == []


@pytest.fixture(scope="module")
def progress(opened: lab.Lab) -> dict[str, Any]:
    """Run all cells; return what the progress of the long compilation looked like while it was shown."""
    opened.run_all()
    opened.browser.wait(f"{PROGRESS} && {PROGRESS}.max > 1", 300)
    shown: dict[str, Any] = opened.browser.run(
        f"({{text: {PROGRESS}.parentElement.innerText, value: {PROGRESS}.value, width: {PROGRESS}.offsetWidth}})"
    )
    opened.wait()
    return shown


@pytest.fixture(scope="module")
def outputs(opened: lab.Lab, progress: dict[str, Any]) -> list[dict[str, Any]]:
    assert progress, "all cells were run"
    return opened.outputs()


def of(outputs: list[dict[str, Any]], ending: str) -> dict[str, Any]:
    """Return the one output of the cell that ends with a line."""
    (found,) = [cell for cell in outputs if cell["source"].rstrip().endswith(ending)]
    (output,) = found["outputs"]
    return dict(output)


def test_the_progress_of_a_long_compilation_is_shown_and_taken_away(
    progress: dict[str, Any], outputs: list[dict[str, Any]], opened: lab.Lab
) -> None:
    assert progress["text"].strip().startswith("compiling long_one: ")
    assert progress["text"].strip().endswith(" s)")
    assert progress["width"] > 50
    assert opened.browser.run(f"{PROGRESS} === null")
    assert "".join(output["text"] for output in outputs[-1]["outputs"]).strip() == ""


def test_no_cell_failed(outputs: list[dict[str, Any]]) -> None:
    kinds = [output["kind"] for cell in outputs for output in cell["outputs"]]
    assert "application/vnd.jupyter.error" not in kinds
    assert "application/vnd.jupyter.stderr" not in kinds


def test_a_variable_is_one_line_of_name_dtype_and_shape(outputs: list[dict[str, Any]]) -> None:
    line = of(outputs, "\nbell")
    assert (line["kind"], line["text"].strip()) == ("text/html", "bell: Vector(float64, shape=(?,))")
    assert line["height"] < 60


def test_a_formula_is_typeset(outputs: list[dict[str, Any]]) -> None:
    formula = of(outputs, "bell.latex()")
    assert (formula["kind"], formula["formulas"], formula["faults"]) == ("text/latex", 1, 0)
    assert formula["height"] > 25, "a fraction is taller than a line"
    assert "\\frac" not in formula["text"]


def test_a_function_says_how_it_is_called_where_it_runs_and_what_it_cost(outputs: list[dict[str, Any]]) -> None:
    line = of(outputs, "\nf")
    assert line["kind"] == "text/html"
    assert line["text"].strip().startswith("area(x: Vector(float64, shape=(?,)), sigma: Scalar(float64)) on ")
    assert " nodes, " in line["text"]


def test_the_page_of_a_graph_is_drawn(outputs: list[dict[str, Any]], opened: lab.Lab) -> None:
    page = of(outputs, "bell.show()")
    assert (page["kind"], page["height"] > 400) == ("text/html", True)
    browser = opened.browser
    state = "document.documentElement.dataset.state"
    assert browser.run_in_frame(
        f"new Promise((done) => {{ const look = () => {state} === 'ready' ? done(true) : "
        "setTimeout(look, 50); look(); })"
    )
    assert browser.run_in_frame("document.querySelectorAll('g.node[data-key]').length") >= 5


def test_debugprint_prints_into_the_cell_once(outputs: list[dict[str, Any]]) -> None:
    tree = of(outputs, "tt.debugprint(bell)")
    assert tree["kind"] == "application/vnd.jupyter.stdout"
    assert tree["text"].count("Exp [id A]") == 1
