"""Functions that run on the Python VM first draw the numbers that they would draw without that."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor.random import PortableGenerator, RandomStreamWarning, normal, shared_rng


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    with config.change_flags(cache__functions=False), warnings.catch_warnings():
        warnings.simplefilter("ignore", RandomStreamWarning)
        yield


def plain(rng: Any) -> tuple[Any, Any]:
    return tuple(normal(size=3, rng=rng, return_next_rng=True))


def looped(rng: Any) -> tuple[Any, Any]:
    def body(state: Any, _: Any) -> tuple[Any, Any]:
        return tuple(normal(rng=state, return_next_rng=True))

    return tuple(tt.scan_with_carry(body, rng, length=3))


@pytest.mark.parametrize("mode", ["JAX", "PYTORCH", "ARRAY_API"])
@pytest.mark.parametrize("draw", [plain, looped])
def test_draws_that_the_vm_would_not_make_are_compiled_at_once(draw: Any, mode: str) -> None:
    def drawing(tiered: bool) -> Any:
        rng = shared_rng(np.random.default_rng(5))
        after, values = draw(rng)
        return function([], values, updates={rng: after}, mode=mode, tiered=tiered)

    f, expected = drawing(True), drawing(False)
    assert f.tier == mode.lower()
    np.testing.assert_array_equal([f() for _ in range(3)], [expected() for _ in range(3)])


@pytest.mark.parametrize(("mode", "seed"), [("JAX", PortableGenerator(5)), ("C", np.random.default_rng(5))])
def test_draws_that_are_the_same_everywhere_have_a_first_tier(mode: str, seed: Any) -> None:
    rng = shared_rng(seed)
    after, values = plain(rng)
    f = function([], values, updates={rng: after}, mode=mode, tiered=True)
    assert f.maker.tiers is not None
    f.wait()
