"""Random graphs of structural ops, of lengths unknown when built: rules leave values, dtypes and shapes as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tensor_rewrites.graphs import EVERYTHING, rewrite, run
from tests.tensor_rewrites.structures import program
from treadle.rewrite import RewriteDatabaseQuery

QUERIES: list[Any] = [EVERYTHING, "fast_compile", "fast_run"]


def check(seed: int, special: bool, query: Any) -> None:
    """Compare a random program with and without rules."""
    random_program = program(seed, special=special)
    outputs = random_program.outputs()
    plain, _ = rewrite(random_program.inputs, outputs, RewriteDatabaseQuery())
    fgraph, report = rewrite(random_program.inputs, outputs, query)
    assert report.looping == []
    tolerance = 1e-7 if special else 1e-9
    for old, new in zip(run(plain, random_program.values), run(fgraph, random_program.values), strict=True):
        assert (old.dtype, old.shape) == (new.dtype, new.shape)
        np.testing.assert_allclose(new, old, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("seed", range(60))
def test_random_structures_keep_their_values(seed: int) -> None:
    check(seed, False, QUERIES[seed % 3])


@pytest.mark.parametrize("seed", range(2000, 2030))
def test_random_structures_keep_nan_and_infinities(seed: int) -> None:
    check(seed, True, QUERIES[seed % 3])
