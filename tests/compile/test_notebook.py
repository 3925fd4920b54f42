"""What a notebook shows of a function."""

from __future__ import annotations

import re

import pytest

import treadle.tensor as tt
from treadle.compile import function

x = tt.dvector("<x>")


@pytest.mark.documents("FunctionMaker.cost")
def test_a_notebook_shows_how_a_function_is_called_where_it_runs_and_what_it_cost() -> None:
    f = function([x], tt.exp(x) * x, mode="VM", name="<f>")
    shown = f._repr_html_()
    expected = (
        r"<code>&lt;f&gt;\(&lt;x&gt;: Vector\(float64, shape=\(\?,\)\)\)</code> on VM: 2 nodes, \w[\w ]* in [\d.e-]+ s"
    )
    assert re.fullmatch(expected, shown), shown
    assert "\n" not in shown


def test_a_function_whose_program_was_made_before_says_so() -> None:
    first, second = (function([x], tt.sinh(x) - x, mode="FAST_RUN", name=name) for name in ("a", "b"))
    assert " nodes, compiled in " in first._repr_html_() or " node, compiled in " in first._repr_html_()
    assert "found in the compile cache in" in second._repr_html_()


def test_a_copy_that_runs_the_same_program_cost_nothing() -> None:
    f = function([x], tt.cosh(x) - x, mode="VM")
    assert f.copy()._repr_html_().endswith(" on VM: 2 nodes")
