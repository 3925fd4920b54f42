"""Draws inside of loops on C: the state of the generator is a carry of the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import random as tr

KINDS = {
    "numpy": (tr.random_generator_type, np.random.default_rng),
    "portable": (tr.portable_generator_type, tr.PortableGenerator),
}


def walk(rng: Any, x: Any) -> list[Any]:
    def step(carry: Any, row: Any) -> Any:
        state, at = carry
        state, draw = tr.normal(row, 1.0, rng=state, return_next_rng=True)
        return (state, at + draw), draw

    (after, last), draws = tt.scan_with_carry(step, (rng, 0.0), x)
    return [last, draws, tr.uniform(size=2, rng=after)]


@pytest.mark.parametrize("kind", KINDS)
def test_loop_draws_the_numbers_of_the_vm_and_moves_its_generator_on(kind: str) -> None:
    variable, make = KINDS[kind]
    rng, x = variable.make_variable("rng"), tt.vector("x")
    outputs = walk(rng, x)
    found = [function([rng, x], outputs, mode=mode)(make(7), np.arange(5.0)) for mode in ("VM", "C")]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
