"""Positions out of bounds are errors, although JAX itself clamps them."""

from __future__ import annotations

import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_jax.programs import assert_like_vm, link
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


def test_positions_that_are_arguments_are_looked_at_before_the_call() -> None:
    x, i, v = tt.dmatrix("x"), tt.lscalar("i"), tt.lvector("v")
    for taken, by, at in (
        (x[i], i, np.array(-3)),
        (x[v, v], v, np.array([0, -1, 2])),
        (tt.set_subtensor(x[1, i], 0.0), i, 3),
    ):
        inputs = [x, by]
        program: Any = link(inputs, [taken])
        values = X, np.asarray(at)
        expected = function(inputs, taken, mode="VM")(*values)
        for _ in range(3):
            assert program(*values)[0].tolist() == expected.tolist()
        assert not program._compiled.latest.checks


def test_a_numpy_array_of_positions_is_looked_at_in_each_call() -> None:
    x, v = tt.dvector("x"), tt.lvector("v")
    f = function([x, v], x[v], mode="JAX")
    at = np.array([0, 1, 2])
    for _ in range(3):
        assert f(np.arange(3.0), at).tolist() == [0, 1, 2]
    at[1] = 3
    with pytest.raises(IndexError, match="out of bounds"):
        f(np.arange(3.0), at)
    at[1] = -3
    assert f(np.arange(3.0), at).tolist() == [0, 0, 2]


@pytest.mark.parametrize("n", [3, 100_000])
def test_arrays_of_jax_that_were_found_valid_are_valid_for_the_lengths_of_then_only(n: int) -> None:
    x, v = tt.dvector("x"), tt.lvector("v")
    f = function([x, v], x[v], mode="JAX")
    with jax.enable_x64(True):
        long, short = jnp.arange(float(n)), jnp.arange(n - 1.0)
        last, beyond = jnp.arange(n), jnp.full(n, -n - 1)
    for _ in range(3):
        assert f(long, last)[-1] == n - 1
    for x_, at in ((short, last), (long, beyond), (short, last)):
        with pytest.raises(IndexError, match="out of bounds"):
            f(x_, at)
        assert f(long, last)[-1] == n - 1


def test_positions_that_follow_from_lengths_are_part_of_the_code() -> None:
    x, v = tt.dmatrix("x"), tt.lmatrix("v")
    middle: Any = link([x], [x[x.shape[0] // 2, tt.stack([x.shape[1] - 1, 0])]])
    for rows in (3, 6):
        values = np.arange(rows * 4.0).reshape(rows, 4)
        assert middle(values)[0].tolist() == values[rows // 2, [3, 0]].tolist()
        assert not middle._compiled.latest.checks
    beyond = link([x], [x[tt.stack([x.shape[1], 0])]])
    with pytest.raises(IndexError, match="out of bounds"):
        beyond(X)
    along: Any = link([x, v], [tt.take_along_axis(x, v, 0)])
    at = np.array([[2, 0, -1, 1]])
    assert along(X, at)[0].tolist() == np.take_along_axis(X, at, 0).tolist()
    assert not along._compiled.latest.checks


def test_a_large_unsigned_position_in_an_array_is_what_it_is_on_the_vm() -> None:
    x, v = tt.dvector("x"), tt.vector("v", dtype="uint64")
    assert_like_vm([x, v], [x[v]], np.arange(3.0), np.array([0, 2**64 - 1], "uint64"))


def test_bounds_are_kept_with_the_compiled_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    first = function([x, i], x[i] * 2, mode="JAX")
    assert first(np.arange(3.0), 2) == 4
    again: Any = pickle.loads(pickle.dumps(first))
    with monkeypatch.context() as patch:
        patch.setattr("jax.stages.Lowered.compile", None)
        assert again(np.arange(3.0), 2) == 4
    with pytest.raises(IndexError, match="out of bounds"):
        again(np.arange(3.0), 3)
