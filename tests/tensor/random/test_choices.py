"""Choices between generators: the chosen one is drawn from, kept, and carried by loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
import treadle.tensor.random as tr
from treadle.compile import function
from treadle.graph import shared
from treadle.scan import scan

if TYPE_CHECKING:
    from collections.abc import Callable

MAKERS: dict[str, Callable[[int], Any]] = {"NumPy": np.random.default_rng, "portable": tr.PortableGenerator}
BACKENDS = ["VM", "C", "NUMBA"]
CASES = [(kind, mode) for kind in MAKERS for mode in BACKENDS]


def drawn(rng: Any, sampler: str = "normal", **parameters: Any) -> Any:
    """Return the generator after a draw of three, and the draw."""
    return getattr(tr, sampler)(size=3, rng=rng, **parameters).owner.outputs


@pytest.mark.parametrize(("kind", "mode"), CASES)
def test_generator_moves_on_only_where_a_choice_says_so(kind: str, mode: str) -> None:
    rng, go = shared(MAKERS[kind](1)), tt.scalar("go", dtype="bool")
    after, draw = drawn(rng)
    f = function([go], draw, updates={rng: tt.ifelse(go, after, rng)}, mode=mode)
    numbers = MAKERS[kind](1)
    first, second = numbers.normal(size=3), numbers.normal(size=3)
    for flag, expected in (False, first), (True, first), (False, second), (False, second):
        np.testing.assert_allclose(f(flag), expected, rtol=1e-14)


@pytest.mark.parametrize(("kind", "mode"), CASES)
def test_draws_go_on_from_the_generator_that_was_chosen_beside_a_number(kind: str, mode: str) -> None:
    rng, go = shared(MAKERS[kind](1)), tt.scalar("go", dtype="bool")
    after, _ = drawn(rng)
    middle, normals = drawn(tt.ifelse(go, after, rng))
    later, integers = drawn(middle, "integers", low=0, high=100)
    last, total = tt.ifelse(go, [later, integers.sum()], [middle, tt.constant(-1)])
    f = function([go], [normals, total], updates={rng: last}, mode=mode)
    numbers = MAKERS[kind](1)
    for flag in True, False, True:
        if flag:
            numbers.normal(size=3)
        expected = numbers.normal(size=3)
        draw, count = f(flag)
        np.testing.assert_allclose(draw, expected, rtol=1e-14)
        assert count == (numbers.integers(0, 100, size=3).sum() if flag else -1)


@pytest.mark.parametrize(("kind", "mode"), CASES)
def test_loop_carries_the_generator_that_was_chosen(kind: str, mode: str) -> None:
    rng, flags = shared(MAKERS[kind](1)), tt.vector("flags", dtype="bool")

    def step(go: Any, total: Any, held: Any) -> Any:
        after, draw = tr.normal(rng=held).owner.outputs
        return total + draw, tt.ifelse(go, after, held)

    rows, _ = scan(step, flags, [tt.constant(0.0), rng], return_updates=False)
    f = function([flags], rows, mode=mode)
    numbers = MAKERS[kind](1)
    a, b = numbers.normal(), numbers.normal()
    np.testing.assert_allclose(f([False, False, True, False]), np.cumsum([a, a, a, b]), rtol=1e-14)


def test_generators_of_two_seeds_stay_apart_where_compiled_code_does_not_choose() -> None:
    first, second, go = (*(shared(np.random.default_rng(seed)) for seed in (1, 2)), tt.scalar("go", dtype="bool"))
    draw = drawn(tt.ifelse(go, first, second))[1]
    for mode in "VM", "CVM", "NUMBA":
        f = function([go], draw, mode=mode)
        for flag, seed in (True, 1), (False, 2):
            np.testing.assert_array_equal(f(flag), np.random.default_rng(seed).normal(size=3))
