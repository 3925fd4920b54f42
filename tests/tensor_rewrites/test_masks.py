"""Values of the elements that a mask picks are computed without picking them."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function

X = np.arange(-6.0, 6.0).reshape(3, 4)
x = tt.dmatrix("x")
rows = tt.vector("rows", dtype="bool")


def op_names(run: Any) -> set[str]:
    return {type(node.op).__name__ for node in run.maker.fgraph.apply_nodes}


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: x[x > 0].sum(), X[X > 0].sum()),
        (lambda x: x[x > 1].prod(), X[X > 1].prod()),
        (lambda x: x[x > 0].mean(), X[X > 0].mean()),
        (lambda x: x[x > 0].shape[0], (X > 0).sum()),
        (lambda x: x[x > 0].set(x[x > 0]), X),
        (lambda x: x[x > 0].inc(x[x > 0]), np.where(X > 0, 2 * X, X)),
    ],
)
def test_what_a_mask_picks_is_not_made(build: Any, expected: Any) -> None:
    run = function([x], build(x), mode="C")
    np.testing.assert_allclose(run(X), expected)
    assert not op_names(run) & {"AdvancedIncSubtensor", "AdvancedSubtensor", "CheckMask", "Nonzero"}


def test_sums_along_other_axes_stay_in_place() -> None:
    taken = X[[True, False, True]]
    for axis in (0, 1, None):
        run = function([x, rows], x[rows].sum(axis=axis), mode="C")
        np.testing.assert_allclose(run(X, np.array([True, False, True])), taken.sum(axis=axis))


@pytest.mark.parametrize("backend", ["VM", "C"])
def test_gradients_of_what_a_mask_picks_count_nothing(backend: str) -> None:
    # The length that gradients are spread over is known to be that of what was picked.
    run = function([x], tt.grad(tt.exp(x[x > 0]).sum(), x), mode=backend)
    np.testing.assert_allclose(run(X), np.where(X > 0, np.exp(X), 0))
    assert not op_names(run) & {"Sum", "FusedReduction", "Reduction"}
    assert [type(node.op).__name__ for node in run.maker.fgraph.apply_nodes].count("Alloc") == 1


def test_nan_that_is_not_picked_does_not_count() -> None:
    assert function([x], x[x > 0].sum(), mode="C")(np.array([[np.nan, 2.0]])) == 2.0
