"""Draws of vectors and matrices: NumPy's numbers, singular covariances, derivatives, unknown lengths."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import NullTypeGradError
from treadle.tensor import random as tr

MEAN = np.array([1.0, -2.0, 0.5])
COV = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.5]])
METHODS = ["cholesky", "eigh", "svd"]


@pytest.mark.parametrize("method", METHODS)
def test_normal_vectors_are_those_of_numpys_generator(method: str) -> None:
    sizes: list[Any] = [None, (5,), (4, 3), (0,), (2, 0)]
    draws = [tr.multivariate_normal(MEAN, COV, size=size, method=method, rng=tr.shared_rng(seed=3)) for size in sizes]
    for mode, tolerance in (("VM", 0.0), ("C", 1e-14)):
        for size, values in zip(sizes, function([], draws, mode=mode)(), strict=True):
            theirs: Any = np.random.default_rng(3)
            wanted = theirs.multivariate_normal(MEAN, COV, size=size, method=method)
            np.testing.assert_allclose(values, wanted, rtol=tolerance, atol=tolerance)


def test_singular_covariances_need_eigh_or_svd() -> None:
    ones = tt.shared(np.ones((3, 3)))
    for method in METHODS:
        draw = tr.multivariate_normal(MEAN, ones, size=4, method=method, rng=tr.shared_rng(seed=3))
        compute = function([], draw, mode="VM")
        if method == "cholesky":
            with pytest.raises(ValueError, match="not positive definite"):
                compute()
        else:
            assert np.ptp(compute() - MEAN, axis=-1).max() < 1e-7


def test_invalid_covariances_are_refused_by_every_method() -> None:
    bad = tt.shared(np.array([[1.0, 2.0], [2.0, 1.0]]))
    for method in METHODS:
        draw = tr.multivariate_normal([0.0, 0.0], bad, method=method, rng=tr.shared_rng(seed=3))
        with pytest.raises(ValueError, match="positive"):
            function([], draw, mode="VM")()
    with pytest.raises(ValueError, match="method"):
        tr.multivariate_normal([0.0], [[1.0]], method="lu")


SMOOTH: list[tuple[Any, tuple[np.ndarray, ...]]] = [
    *((partial(tr.multivariate_normal, method=method), (MEAN, COV)) for method in METHODS),
    (tr.multivariate_laplace, (MEAN, COV)),
    (partial(tr.multivariate_t, df=4.0), (MEAN, COV)),
    (tr.matrix_normal, (np.stack([MEAN, 2 * MEAN]), COV[:2, :2], COV)),
    (partial(tr.wishart, 5.5), (COV,)),
    (partial(tr.inverse_wishart, 5.5), (COV,)),
]


@pytest.mark.parametrize(("make", "values"), SMOOTH)
def test_derivatives_are_those_of_differences(make: Any, values: tuple[np.ndarray, ...]) -> None:
    inputs = [tt.matrix() if value.ndim == 2 else tt.vector() for value in values]
    # Covariances stay symmetric while one element moves.
    parameters = [
        (x + x.T) / 2 if value.shape[0] == value.shape[-1] else x for x, value in zip(inputs, values, strict=True)
    ]
    parameters[0] = inputs[0] if values[0].ndim == 1 else parameters[0]
    draw = make(*parameters, size=(4,), rng=tr.shared_rng(seed=3))
    weights = np.random.default_rng(0).normal(size=function(inputs, draw, mode="VM")(*values).shape)
    cost = (weights * draw).sum()
    compute = function(inputs, [cost, *tt.grad(cost, inputs)], mode="VM")
    for k, slope in enumerate(compute(*values)[1:]):
        for at in np.ndindex(*slope.shape):
            step = np.zeros(slope.shape)
            step[at] = 1e-6
            ends = [[v + sign * step if i == k else v for i, v in enumerate(values)] for sign in (1, -1)]
            wanted = (compute(*ends[0])[0] - compute(*ends[1])[0]) / 2e-6
            assert abs(slope[at] - wanted) < 1e-6 * max(1.0, abs(wanted))


def test_degrees_of_freedom_have_no_derivative_and_are_named() -> None:
    df = tt.dscalar("df")
    with pytest.raises(NullTypeGradError, match="wishart has no derivative by this parameter"):
        tt.grad(tr.wishart(df, COV).sum(), df)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_categories_may_be_of_unknown_number(mode: str) -> None:
    p, colors = np.array([0.2, 0.0, 0.5, 0.1, 0.2]), np.array([4, 0, 7, 2, 9])
    draws = []
    for shared in (False, True):
        parameters = [tt.shared(x) if shared else x for x in (p, colors)]
        rng = tr.shared_rng(tr.PortableGenerator(3))
        rng, counts = tr.multinomial(40, parameters[0], size=(6, 2), rng=rng, return_next_rng=True)
        drawn = tr.multivariate_hypergeometric(parameters[1], 11, size=(6, 2), rng=rng)
        draws.append(function([], [counts, drawn], mode=mode)())
    for known, unknown in zip(*draws, strict=True):
        np.testing.assert_array_equal(known, unknown)
    assert np.all(draws[0][0].sum(-1) == 40)
    assert np.all(draws[0][0][..., 1] == 0)
    assert np.all(draws[0][1] <= colors)


def test_integers_without_high_start_at_0() -> None:
    draw = tr.integers(5, size=(200,), rng=tr.shared_rng(seed=1))
    np.testing.assert_array_equal(function([], draw, mode="VM")(), np.random.default_rng(1).integers(5, size=200))
    assert tr.nbinom == tr.negative_binomial


def test_derivatives_of_dirichlet_draws_average_to_those_of_moments() -> None:
    alphas, values = tt.dvector("alphas"), np.array([0.4, 1.5, 3.0])
    draw = tr.dirichlet(alphas, size=(20000,), rng=tr.shared_rng(seed=4))
    slopes = tt.grad((draw[:, 0] * draw[:, 1]).mean(), alphas)
    gradients = function([alphas], slopes, mode="VM")(values)
    total = values.sum()
    # The mean of x0 x1 is a0 a1 / (A (A + 1)).
    mean = values[0] * values[1] / (total * (total + 1))
    wanted = mean * (np.array([1 / values[0], 1 / values[1], 0.0]) - 1 / total - 1 / (total + 1))
    np.testing.assert_allclose(gradients, wanted, atol=2e-3)
    alone = tt.grad(tr.dirichlet(alphas, rng=tr.shared_rng(seed=4)).sum(), alphas)
    assert function([alphas], alone, mode="VM")(np.array([2.0])) == 0
