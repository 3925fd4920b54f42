"""Repetitions on JAX: a vector of any length may decide a shape."""

from __future__ import annotations

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function


@pytest.mark.filterwarnings("ignore:jax. a shape in RepeatedPositions:Warning")
def test_numbers_of_repetitions_may_be_one_for_all_or_one_for_each() -> None:
    x, counts = tt.dvector("x"), tt.lvector("counts")
    run = function([x, counts], tt.repeat(x, counts), mode="JAX")
    value = np.arange(3.0)
    for repetitions in ([2], [2, 0, 1], [1]):
        np.testing.assert_array_equal(run(value, np.array(repetitions)), np.repeat(value, repetitions))
