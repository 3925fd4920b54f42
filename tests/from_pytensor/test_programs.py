"""Programs of PyTensor's users give PyTensor's results, or what docs/from_pytensor.md says instead."""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from tests.from_pytensor import programs
from tests.from_pytensor.programs import Row
from tools import from_pytensor
from treadle import tensor as tt
from treadle.compile import In, function, get_mode, shared
from treadle.graph import FunctionGraph, clone_replace, graph_inputs, vectorize_graph
from treadle.rewrite import UnknownTagError

assumptions: Any = import_module("treadle.assumptions")
SAME = [row for row in programs.rows() if row.claim == "same"]
DIFFERENT = [row for row in programs.rows() if row.claim == "differs"]
WITH_VALUES = [row for row in SAME if isinstance(json.loads(row.pytensor), list)]
IN_ONE_FUNCTION = 80
# Differences that take more than a line to show.
SHOWN_BELOW = {"tensor.linalg.qr", "assumptions.AssumptionFeature"}


@cache
def names() -> dict[str, Any]:
    return programs.names_of("treadle")


@pytest.mark.parametrize("start", range(0, len(WITH_VALUES), IN_ONE_FUNCTION))
def test_programs_give_what_pytensor_gave(start: int) -> None:
    rows = WITH_VALUES[start : start + IN_ONE_FUNCTION]
    ours = programs.outcomes([row.program for row in rows], names(), "treadle")
    wrong = [
        f"{row.program}: {programs.text(mine)}, PyTensor {programs.VERSION}: {row.pytensor}"
        for row, mine in zip(rows, ours, strict=True)
        if not programs.agree(mine, json.loads(row.pytensor))
    ]
    assert wrong == []


@pytest.mark.parametrize("row", [row for row in SAME if row not in WITH_VALUES], ids=lambda row: row.program)
def test_programs_fail_as_they_failed_in_pytensor(row: Row) -> None:
    assert programs.agree(programs.outcome(row.program, names(), "treadle"), json.loads(row.pytensor))


@pytest.mark.parametrize("row", DIFFERENT, ids=lambda row: row.program)
def test_programs_that_differ_give_the_documented_result(row: Row) -> None:
    ours = programs.outcome(row.program, names(), "treadle")
    assert programs.agree(ours, programs.numeric_outcome(row.instead))
    assert not programs.agree(ours, json.loads(row.pytensor)), "no difference any more: claim that it is the same"


def test_every_program_that_differs_is_listed_on_the_page() -> None:
    assert sorted({row.path for row in DIFFERENT} - from_pytensor.paths_with_a_difference()) == []


def test_every_name_of_a_difference_has_a_program_that_shows_it() -> None:
    shown = {row.path for row in DIFFERENT} | SHOWN_BELOW
    assert sorted({path for row in from_pytensor.differences() for path in row.names.split()} - shown) == []


def test_parts_that_the_page_calls_absent_are_absent() -> None:
    assert [part for part, missing, of, _ in from_pytensor.absent() if missing < of / 2] == []


def test_nonfinite_values_do_not_vanish() -> None:
    # PyTensor 3.0.7 gives 0, 0 and 1 everywhere, and for the product what is expected here.
    x, y = tt.dvector("x"), tt.dvector("y")
    outputs = [y * 0, y - y, y / y, tt.switch(x > 0, x, 0.0) * tt.log(x)]
    zero, difference, ratio, product = function([x, y], outputs)([-1.0, 0.0, 1.5], [np.nan, np.inf, 2.0])
    np.testing.assert_array_equal([zero, difference], [[np.nan, np.nan, 0.0]] * 2)
    np.testing.assert_array_equal(ratio, [np.nan, np.nan, 1.0])
    np.testing.assert_allclose(product, [0.0, 0.0, 1.5 * np.log(1.5)])


def test_raw_factors_are_those_of_scipy() -> None:
    raw: Any = tt.linalg.qr(programs.INPUTS["m"], mode="raw")
    (packed, scale), upper = raw
    (their_packed, their_scale), their_upper = scipy.linalg.qr(programs.INPUTS["m"], mode="raw")
    for ours, theirs in ((packed, their_packed), (scale, their_scale), (upper, their_upper)):
        np.testing.assert_allclose(ours.eval(), theirs, atol=1e-12)


def test_facts_that_are_said_to_be_wrong_are_known_to_be() -> None:
    x = tt.dmatrix("x")
    assumed = assumptions.assume(x, diagonal=False)
    feature = assumptions.AssumptionFeature()
    FunctionGraph([x], [assumed], clone=False, features=[feature])
    assert feature.get(assumed, assumptions.DIAGONAL) is assumptions.FactState.FALSE


def test_nothing_flows_to_inputs_without_a_gradient() -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    node = x[i].owner
    assert node is not None
    op: Any = node.op
    assert op.L_op(node.inputs, node.outputs, [tt.ones(())])[1:] == [None]


def test_unknown_rules_cannot_be_excluded() -> None:
    with pytest.raises(UnknownTagError, match="local_add_canonizer"):
        function([], tt.constant(1.0), mode=get_mode("FAST_RUN").excluding("local_add_canonizer"))


def test_mutable_inputs_and_updates_follow_what_the_page_says() -> None:
    x = tt.dvector("x")
    kept = np.ones(3)
    function([In(x, mutable=True)], x * 2)(kept)
    assert kept.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(TypeError, match="needs a default"):
        function([In(x, update=x + 1)], x)


def test_graphs_keep_what_the_page_says() -> None:
    x, state = tt.dvector("x"), shared(1.0)
    with pytest.raises(TypeError, match="type"):
        vectorize_graph(x * 2, {x: tt.lmatrix("m")})
    assert state in graph_inputs([clone_replace(state * 2, {}, copy_inputs_over=False)])
    clipped = tt.clip(x, 0, 1).owner
    assert clipped is not None
    assert clipped.op == tt.clip
    with pytest.raises(ValueError, match="axis"):
        tt.sort(x, axis=tt.lscalar("i"))  # type: ignore[arg-type]  # that is the point
