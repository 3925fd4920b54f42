"""Specified lengths are known at once, and checked when the program runs."""

from __future__ import annotations

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import vectorize_graph
from treadle.tensor import OpFromGraph, ShapeError, SpecifyShape


def test_specified_lengths_are_part_of_the_type() -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")
    assert tt.specify_shape(x, (None, 3)).type.shape == (None, 3)
    assert tt.specify_shape(x, (n, 3)).type.shape == (None, 3)
    assert tt.specify_shape(tt.dvector("v"), 4).type.shape == (4,)
    assert tt.specify_broadcastable(x, -1).type.shape == (None, 1)
    assert tt.specify_shape(x, (None, None)) is x


def test_another_length_is_refused_at_once_or_when_the_program_runs() -> None:
    x = tt.tensor("x", dtype="float64", shape=(2, None))
    with pytest.raises(ShapeError, match="cannot have length 3 in dimension 0"):
        tt.specify_shape(x, (3, None))
    with pytest.raises(ShapeError, match="2 lengths are needed"):
        tt.specify_shape(x, (3,))
    run = function([x], tt.specify_shape(x, (None, 3)) * 2, mode="VM")
    np.testing.assert_array_equal(run(np.ones((2, 3))), np.full((2, 3), 2.0))
    with pytest.raises(ValueError, match="dimension 1 must have length 3"):
        run(np.ones((2, 4)))


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
def test_error_is_an_assertion_error_that_says_what_was_expected(mode: str) -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")
    run = function([x, n], tt.specify_shape(x, (None, n)) * 2, mode=mode)
    with pytest.raises(AssertionError, match=r"length 3, got shape \(2, 4\), expected \(None, 3\)"):
        run(np.ones((2, 4)), 3)


def test_op_without_axes_takes_a_length_or_none_for_every_dimension() -> None:
    x, n = tt.dtensor3("x"), tt.lscalar("n")
    out = tt.SpecifyShape()(x, 2, None, n)
    assert out.type.shape == (2, None, None)
    assert out.owner.op == tt.SpecifyShape((0, 2))
    assert tt.SpecifyShape()(x, tt.NoneConst, 3, tt.NoneConst).type.shape == (None, 3, None)
    with pytest.raises(TypeError, match="a tensor with these axes and a length for each"):
        tt.SpecifyShape()(x, 2, 3)


def test_less_precise_update_is_checked_instead_of_refused() -> None:
    state = tt.shared(np.zeros(3), shape=(3,))
    x = tt.dvector("x")
    step = function([x], [], updates={state: x[1:]}, mode="VM")
    step(np.arange(4.0))
    np.testing.assert_array_equal(state.get_value(), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="length 3"):
        step(np.arange(2.0))


def test_less_precise_replacement_and_input_of_a_graph_are_checked() -> None:
    narrow, wide = tt.tensor("narrow", dtype="float64", shape=(3,)), tt.dvector("wide")
    replaced = function([wide], narrow * 2, givens={narrow: wide}, mode="VM")
    inner = OpFromGraph([narrow], [narrow + 1])
    called = function([wide], inner(wide), mode="VM")
    for run in (replaced, called):
        assert run(np.ones(3)).shape == (3,)
        with pytest.raises(ValueError, match="length 3"):
            run(np.ones(4))


def test_what_contradicts_is_still_refused() -> None:
    narrow = tt.tensor("narrow", dtype="float64", shape=(3,))
    for other in (tt.tensor("x", dtype="float64", shape=(4,)), tt.fvector("f"), tt.dmatrix("m")):
        with pytest.raises(TypeError):
            narrow.type.filter_variable(other)


def test_batches_and_gradients_pass_through() -> None:
    x, batch = tt.dvector("x"), tt.dmatrix("batch")
    specified = tt.specify_shape(x, 3)
    (many,) = vectorize_graph([specified], {x: batch})
    assert many.owner is not None
    assert many.owner.op == SpecifyShape((1,))
    slope = tt.grad((specified**2).sum(), x)
    np.testing.assert_array_equal(function([x], slope, mode="VM")(np.arange(3.0)), [0.0, 2.0, 4.0])
