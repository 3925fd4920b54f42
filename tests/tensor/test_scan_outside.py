"""Loops that use values computed before their function was called."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.graph import MissingInputError
from treadle.scan import foldl, map, reduce, scan
from treadle.tensor import random as tr
from treadle.tensor.random import PortableGenerator, RandomStream

MODES = ["VM", "CVM", "NUMBA"]
KINDS: list[Literal["numpy", "portable"]] = ["numpy", "portable"]


def rows_of(body: Callable[[Any], Any]) -> tuple[Any, Any]:
    result: tuple[Any, Any] = scan(body, sequences=[tt.zeros(4)])
    return result


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_draw_made_outside_has_one_value_inside_and_outside(kind: Literal["numpy", "portable"], mode: str) -> None:
    drawn = RandomStream(3, generator=kind).normal()
    rows, updates = rows_of(lambda s: s + drawn)
    f = function([], [rows, drawn], updates=updates, mode=mode)
    first, second = f(), f()
    for draws, once in (first, second):
        assert draws.tolist() == [once] * 4
    assert first[1] != second[1]


@pytest.mark.parametrize("kind", KINDS)
def test_draws_made_inside_differ_beside_one_made_outside(kind: Literal["numpy", "portable"]) -> None:
    stream = RandomStream(3, generator=kind)
    drawn = stream.normal()
    rows, updates = rows_of(lambda s: tt.stack([s + drawn, stream.normal()]))
    outside, inside = function([], rows, updates=updates, mode="VM")().T
    assert len(set(outside.tolist())) == 1
    assert len(set(inside.tolist())) == 4


def test_draw_of_an_outer_step_has_one_value_in_the_inner_loop() -> None:
    stream = RandomStream(3)
    outermost = stream.uniform()

    def outer(s: Any) -> Any:
        drawn = stream.uniform()
        return scan(lambda q: q + s + outermost + drawn, sequences=[tt.zeros(3)])[0]

    rows, updates = rows_of(outer)
    draws, once = function([], [rows, outermost], updates=updates, mode="VM")()
    assert (draws == draws[:, :1]).all()
    assert len(set(draws[:, 0].tolist())) == 4
    assert ((draws > once) & (draws < once + 1)).all()


@pytest.mark.parametrize(
    "built",
    [
        lambda d: map(lambda s: s + d, tt.zeros(3), return_updates=False),
        lambda d: reduce(lambda s, total: total + s + d, tt.zeros(3), 0.0, return_updates=False) / 3,
        lambda d: foldl(lambda s, total: total + s + d, tt.zeros(3), 0.0, return_updates=False) / 3,
        lambda d: tt.fori_loop(0, 3, lambda _, total: total + d, 0.0) / 3,
        lambda d: tt.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + d), (0, 0.0))[1] / 3,
        lambda d: tt.scan_with_carry(lambda c, s: (c, s + d), 0.0, tt.zeros(3))[1],
    ],
    ids=["map", "reduce", "foldl", "fori_loop", "while_loop", "scan_with_carry"],
)
def test_draw_made_outside_has_one_value_in_every_form_of_loop(built: Callable[[Any], Any]) -> None:
    drawn = RandomStream(5).normal()
    draws, once = function([], [built(drawn), drawn], mode="VM")()
    np.testing.assert_allclose(draws, np.full(np.shape(draws), once))


@pytest.mark.parametrize("generator", [np.random.default_rng(3), PortableGenerator(3)])
def test_shared_generator_is_drawn_from_once_outside_and_in_each_step_inside(generator: Any) -> None:
    state = tr.shared_rng(generator)
    state.default_update, drawn = tr.normal(rng=state, return_next_rng=True)
    rows, updates = rows_of(lambda s: s + drawn)
    assert len(set(function([], rows, updates=updates, mode="VM")().tolist())) == 1

    def step(s: Any) -> Any:
        next_rng, own = tr.normal(rng=state, return_next_rng=True)
        return s + own, {state: next_rng}

    rows, updates = rows_of(step)
    assert len(set(function([], rows, updates=updates, mode="VM")().tolist())) == 4


def test_counter_moves_inside_and_what_was_computed_of_it_outside_stays() -> None:
    state = shared(1.0)
    state.default_update = state + 1
    double = state * 2
    rows, updates = rows_of(lambda s: tt.stack([s + state, s + double]))
    assert function([], rows, updates=updates, mode="VM")().T.tolist() == [[1, 2, 3, 4], [2, 2, 2, 2]]
    assert state.get_value() == 5


def test_state_updated_by_the_function_leaves_what_was_computed_of_it_before() -> None:
    state = shared(1.0)
    double = state * 2
    rows, updates = rows_of(lambda s: (s + double, {state: state + double}))
    assert function([], rows, updates=updates, mode="VM")().tolist() == [2, 2, 2, 2]
    assert state.get_value() == 9


def test_gradient_takes_an_outside_draw_for_one_value() -> None:
    x = tt.dscalar("x")
    drawn = RandomStream(3).normal(x)
    rows, _ = rows_of(lambda s: s + drawn**2)
    slope, once = function([x], [tt.grad(rows.sum(), x), drawn], mode="VM")(0.5)
    np.testing.assert_allclose(slope, 8 * once)


@pytest.mark.parametrize("mode", MODES)
def test_strict_loop_takes_expressions_of_shared_variables(mode: str) -> None:
    state, x = shared(2.0), tt.dvector("x")
    rows, _ = scan(lambda r, c: r + c, sequences=[x], non_sequences=[state * 2], strict=True)
    assert function([x], rows, mode=mode)([1.0, 1.0]).tolist() == [5, 5]
    (powers, _) = scan(
        lambda total, c: total * c, outputs_info=[tt.constant(1.0)], non_sequences=[state * 2], n_steps=3, strict=True
    )
    assert function([], powers, mode=mode)().tolist() == [4, 16, 64]


def test_strict_loop_may_draw() -> None:
    stream, x = RandomStream(4), tt.dvector("x")
    rows, updates = scan(lambda r: r + stream.normal(), sequences=[x], strict=True)
    assert len(set(function([x], rows, updates=updates, mode="VM")([1.0, 1.0, 1.0]).tolist())) == 3


def test_strict_loop_refuses_a_shared_variable_beside_an_expression_of_it() -> None:
    state, x = shared(2.0, name="state"), tt.dvector("x")
    with pytest.raises(MissingInputError, match="uses the shared variable state, which it is not given"):
        scan(lambda r, c: r + c + state, sequences=[x], non_sequences=[state * 2], strict=True)
