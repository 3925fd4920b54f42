"""Positions out of bounds are errors, although JAX itself clamps them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_jax.programs import link
from treadle.compile import function

X = np.arange(12.0).reshape(3, 4)


def cases() -> list[Any]:
    x, i, v = tt.dmatrix("x"), tt.lscalar("i"), tt.lvector("v")
    return [
        pytest.param([x, i], x[i], id="position"),
        pytest.param([x, i], x[1:, i], id="position beside a slice"),
        pytest.param([x, i], tt.set_subtensor(x[i], 0.0), id="set"),
        pytest.param([x, v], x[v], id="positions"),
        pytest.param([x, v], x[v, v[::-1]], id="positions in two dimensions"),
        pytest.param([x, v], tt.inc_subtensor(x[v], 1.0), id="increment"),
        pytest.param([x, v], tt.set_subtensor(x[:, v], 1.0), id="set positions"),
    ]


@pytest.mark.parametrize(("inputs", "output"), cases())
@pytest.mark.parametrize("at", [4, -5])
def test_a_position_out_of_bounds_is_an_index_error(inputs: Any, output: Any, at: int) -> None:
    positions = np.array(at) if inputs[1].ndim == 0 else np.array([0, at])
    with pytest.raises(IndexError, match=f"index {at} is out of bounds"):
        link(inputs, [output])(X, positions)


def test_a_position_in_a_dimension_that_is_empty_is_an_index_error() -> None:
    x, i = tt.dmatrix("x"), tt.lscalar("i")
    with pytest.raises(IndexError, match="out of bounds"):
        link([x, i], [x[i]])(np.zeros((0, 4)), np.array(0))


def test_a_huge_unsigned_position_does_not_wrap() -> None:
    x, i = tt.dvector("x"), tt.tensor(dtype="uint64", shape=())
    with pytest.raises(ArithmeticError, match=r"Subtensor.* too large"):
        link([x, i], [x[i]])(np.arange(3.0), np.array(2**64 - 1, "uint64"))


def test_the_error_names_the_line_that_built_the_node() -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    program = link([x, i], [x[i]])  # this line
    with pytest.raises(IndexError, match=r"test_bounds\.py:\d+ .*this line"):
        program(np.arange(3.0), np.array(3))


def test_a_program_works_on_after_an_error() -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    program = link([x, i], [x[i]])
    with pytest.raises(IndexError):
        program(np.arange(3.0), np.array(3))
    assert program(np.arange(3.0), np.array(-1))[0] == 2


def test_an_index_known_to_fit_is_not_checked_at_run_time() -> None:
    x = tt.dvector("x")
    assert len(link([x], [x[1], x[::2]]).jaxpr(np.arange(3.0)).out_avals) == 2


@pytest.mark.parametrize("shapes", [((3, 4), (2, 4)), ((3, 4), (3, 3))])
def test_shapes_that_clash_are_a_value_error(shapes: Any) -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    with pytest.raises(ValueError, match=r"Add: .*broadcast.*test_bounds\.py"):
        link([x, y], [x + y])(*map(np.ones, shapes))


def test_constant_positions_are_checked_once() -> None:
    x, y = tt.dmatrix("x"), tt.dvector("y")
    at = tt.constant(np.array([0, -3, 2, 2]))
    values = np.arange(12.0).reshape(3, 4)
    taken = function([x], x[at], mode="JAX")
    written = function([x, y], [tt.inc_subtensor(x[at], y), tt.set_subtensor(x[1:, at], 1.0)], mode="JAX")
    assert taken(values).tolist() == values[[0, 0, 2, 2]].tolist()
    expected = function([x, y], [tt.inc_subtensor(x[at], y), tt.set_subtensor(x[1:, at], 1.0)], mode="VM")
    for found, right in zip(written(values, np.ones(4)), expected(values, np.ones(4)), strict=True):
        assert found.tolist() == right.tolist()
    programs: list[Any] = [taken.program, written.program]
    assert all(not p._compiled.latest.checks for p in programs)
    with pytest.raises(IndexError, match="out of bounds"):
        taken(values[:2])
    assert taken(values).tolist() == values[[0, 0, 2, 2]].tolist()
    with pytest.raises(IndexError, match="out of bounds"):
        taken(values[:0])
