"""Loops of random bodies: carries that are views, rows and each other, changed in place and chosen between."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import FunctionGraph
from treadle.link.c.linker import CLinker
from treadle.link.vm import PythonLinker
from treadle.tensor.loops.parts import LoopParts

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS, X, Y, V, M, S = (
    tt.lscalar("n"),
    tt.dmatrix("x"),
    tt.dvector("y"),
    tt.dvector("v"),
    tt.dmatrix("m"),
    tt.dscalar("s"),
)
STARTS: list[list[Any]] = [[S], [V, V * 2.0, X[0]], [M, M.T, M * 1.0]]


def _extended(values: list[list[Any]], choose: random.Random) -> None:
    """Add one more value, computed from some of those of rank 0, 1 and 2."""
    a, v, w = choose.choice(values[0]), choose.choice(values[1]), choose.choice(values[1])
    m = choose.choice(values[2] or [tt.outer(v, w)])
    makers: list[Callable[[], Any]] = [
        lambda: tt.sin(v) + w, lambda: v[::-1], lambda: tt.tanh(m @ v), lambda: m.T, lambda: tt.sin(m) * 0.5,
        lambda: tt.inc_subtensor(v[1], a), lambda: tt.set_subtensor(m[0], v), lambda: tt.tanh(v.sum()),
        lambda: v[2], lambda: m[1], lambda: tt.ifelse(a > 0.0, v, w * 0.5), lambda: tt.ifelse(a > 0.1, m, m.T),
        lambda: tt.outer(tt.tanh(v), tt.tanh(w)), lambda: tt.cos(a),
    ]  # fmt: skip
    value = choose.choice(makers)()
    values[value.ndim].append(value)


def _loop(choose: random.Random) -> list[Any]:
    """Return some of the results of a loop."""
    loop = LoopParts(STEPS)
    values: list[list[Any]] = [[tt.dscalar()], [tt.dvector()], []]
    loop.add_sequence(Y, values[0][0])
    loop.add_sequence(X, values[1][0])
    ranks = [choose.choice([0, 1, 1, 1, 2]) for _ in range(choose.randint(1, 5))]
    carries = [tt.TensorType("float64", (None,) * rank)() for rank in ranks]
    for outside in (V[::-1], M):
        constant = outside.type()
        loop.add_given(outside, constant)
        values[outside.ndim].append(constant)
    for rank, carry in zip(ranks, carries, strict=True):
        values[rank].append(carry)
    for _ in range(choose.randint(1, 10)):
        _extended(values, choose)
    for rank, carry in zip(ranks, carries, strict=True):
        loop.add_carry(choose.choice(STARTS[rank]), carry, choose.choice(values[rank]))
    loop.rows_out = [choose.choice(values[choose.randint(0, 2)]) for _ in range(choose.randint(0, 3))]
    if choose.random() < 0.3:
        loop.until = choose.choice(values[0]) > 0.9
    loop.widen()
    applied = loop.apply()
    outputs = [*applied.carries, *applied.stacked]
    return choose.sample(outputs, choose.randint(1, len(outputs)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_loop_computes_what_the_vm_does(seed: int) -> None:
    inputs, outputs = [STEPS, X, Y, V, M, S], _loop(random.Random(seed))
    reference = PythonLinker().link(FunctionGraph(inputs, outputs, clone=True))
    program = CLinker().link(FunctionGraph(inputs, outputs, clone=True))
    rng = np.random.default_rng(seed)
    shapes = [(8, 3), (8,), (3,), (3, 3), ()]
    for steps in (6, 1, 0, 6):
        arrays = [np.asarray(steps), *(np.asarray(rng.normal(size=shape)) for shape in shapes)]
        before = [x.copy() for x in arrays]
        results = program(*arrays)
        for a, b in zip(results, reference(*arrays), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        for a, b in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(a, b)
        full = [a for a in results if a.size]
        assert not any(np.shares_memory(a, b) for i, a in enumerate(full) for b in [*arrays, *full[:i]])
