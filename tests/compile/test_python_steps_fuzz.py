"""Random programs of built-in ops and ops that compute in Python alone: every backend against the virtual machine."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.compile.user_ops import Backwards, Pack, SumAndLength, Twice, Unpack
from treadle.compile import function
from treadle.config import config

# The long form: how many programs for each backend, and the first seed.
COUNT = int(os.environ.get("TREADLE_FUZZ_COUNT", "40"))
SEED = int(os.environ.get("TREADLE_FUZZ_SEED", "1000"))
VALUES = [np.array([3.0, 1.0, 2.0]), np.array([-0.5, 0.25, 4.0])]


def _step(rng: random.Random, known: list[Any]) -> Any:
    x, y = rng.choice(known), rng.choice(known)
    steps: list[Callable[[], Any]] = [
        lambda: Twice()(x),
        lambda: Backwards()(x),
        lambda: SumAndLength()(x)[0] + y,
        lambda: x * tt.cast(SumAndLength()(y)[1], "float64"),
        lambda: Unpack()(Pack()(x)) - y,
        lambda: tt.tanh(x) + y,
        lambda: x * y.sum(),
        lambda: x[::-1] - y,
        lambda: tt.ifelse(x.sum() > y.sum(), Twice()(y) + 1, x * 2),
        lambda: tt.maximum(x, y),
    ]
    return rng.choice(steps)()


def _program(seed: int) -> tuple[list[Any], list[Any]]:
    rng = random.Random(seed)
    inputs = [tt.dvector("x"), tt.dvector("y")]
    known: list[Any] = list(inputs)
    for _ in range(rng.randint(2, 9)):
        known.append(_step(rng, known))
    outputs = [tt.tanh(v) if rng.random() < 0.5 else v for v in rng.sample(known, rng.randint(1, 3))]
    return inputs, outputs


def _compare(backend: str, seed: int) -> None:
    inputs, outputs = _program(seed)
    wanted = function(inputs, outputs, mode="VM", on_unused_input="ignore")(*VALUES)
    with config.change_flags(torch__compile=False, on_python_step="ignore"):
        f = function(inputs, outputs, mode=backend, on_unused_input="ignore")
    for _ in range(2):
        for result, value in zip(f(*VALUES), wanted, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-9, err_msg=f"{backend}, seed {seed}")


@pytest.mark.parametrize(("backend", "count"), [("CVM", 3), ("NUMBA", 1), ("JAX", 3), ("PYTORCH", 6)])
def test_backends_agree_with_the_virtual_machine(backend: str, count: int) -> None:
    for seed in range(count):
        _compare(backend, seed)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["CVM", "NUMBA", "JAX", "PYTORCH"])
def test_backends_agree_with_the_virtual_machine_on_many(backend: str) -> None:
    for seed in range(SEED, SEED + COUNT):
        _compare(backend, seed)
