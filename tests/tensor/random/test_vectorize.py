"""Random variables with batches of parameters, by vectorize_graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from treadle import tensor as tt
from treadle.compile import function
from treadle.graph import VectorizeError, vectorize_graph
from treadle.tensor import random as tr
from treadle.tensor.random import GeneratorState


def numbers(out: Any, values: dict[Any, Any]) -> Any:
    return function(list(values), out, mode="VM")(*values.values())


def test_batched_parameters_are_drawn_for_independently() -> None:
    mu, sigma = tt.dscalar("mu"), tt.dscalar("sigma")
    x = tr.normal(mu, sigma, rng=tr.shared_rng(seed=5))
    mus, sigmas = tt.dmatrix("mus"), tt.dvector("sigmas")
    many = vectorize_graph(x * 2, {mu: mus, sigma: sigmas})
    values = {mus: np.arange(6.0).reshape(2, 3), sigmas: np.array([1.0, 2.0, 3.0])}
    expected = 2 * np.random.default_rng(5).normal(values[mus], values[sigmas])
    np.testing.assert_array_equal(numbers(many, values), expected)


def test_lengths_of_the_batch_stand_before_the_size() -> None:
    mu, n = tt.dvector("mu"), tt.lscalar("n")
    x = tr.normal(mu, size=(n, 3), rng=tr.shared_rng(seed=5))
    mus = tt.dmatrix("mus")
    centres = np.arange(6.0).reshape(2, 3)
    values = {mus: centres, n: 4}
    expected = np.random.default_rng(5).normal(centres[:, None], size=(2, 4, 3))
    np.testing.assert_array_equal(numbers(vectorize_graph(x, {mu: mus}), values), expected)


def test_parameters_of_different_ranks_keep_their_places() -> None:
    mu, sigma = tt.dscalar("mu"), tt.dvector("sigma")
    x = tr.normal(mu, sigma, rng=tr.shared_rng(seed=5))
    mus = tt.dvector("mus")
    values = {mus: np.arange(2.0), sigma: np.array([1.0, 2.0, 3.0])}
    expected = np.random.default_rng(5).normal(values[mus][:, None], values[sigma])
    np.testing.assert_array_equal(numbers(vectorize_graph(x, {mu: mus}), values), expected)


def test_parameters_that_are_vectors_are_batched_in_front() -> None:
    mean, cov = tt.dvector("mean"), tt.dmatrix("cov")
    x = tr.multivariate_normal(mean, cov, size=(4,), rng=tr.shared_rng(seed=5))
    means = tt.dtensor3("means")
    many = vectorize_graph(x, {mean: means})
    drawn = numbers(many, {means: np.full((2, 3, 2), 1e3), cov: np.eye(2)})
    assert drawn.shape == (2, 3, 4, 2)
    assert len(np.unique(drawn)) == drawn.size


def test_next_generator_is_the_one_after_the_whole_batch() -> None:
    mu = tt.dscalar("mu")
    following, x = tr.normal(mu, rng=tr.shared_rng(seed=5), return_next_rng=True)
    y = tr.normal(mu, rng=following)
    mus = tt.dvector("mus")
    first, second = numbers(vectorize_graph([x, y], {mu: mus}), {mus: np.zeros(3)})
    np.testing.assert_array_equal(np.concatenate([first, second]), np.random.default_rng(5).normal(size=6))


def test_batches_of_sizes_are_refused() -> None:
    n = tt.lscalar("n")
    x = tr.normal(size=(n,), rng=tr.shared_rng(seed=5))
    with pytest.raises(VectorizeError, match="normal: sizes would differ"):
        vectorize_graph(x, {n: tt.lvector("ns")})


def test_generator_may_be_replaced_but_has_no_batch() -> None:
    r, other = tr.rng("r"), tr.shared_rng(seed=7)
    x = tr.normal(size=(2,), rng=r)
    np.testing.assert_array_equal(numbers(vectorize_graph(x, {r: other}), {}), np.random.default_rng(7).normal(size=2))
    with pytest.raises((VectorizeError, TypeError)):
        vectorize_graph(x, {r: tt.dvector("v")})


def test_draws_of_arrays_of_states_are_batched_alike() -> None:
    state = GeneratorState()(tr.shared_rng(seed=5))
    mu = tt.dscalar("mu")
    _, x = tt.GeneratorDraws("normal", "float64", 1)(state, tt.constant(3), mu, tt.constant(1.0))
    mus = tt.dvector("mus")
    expected = np.random.default_rng(5).normal(np.array([[1.0], [2.0]]), size=(2, 3))
    np.testing.assert_array_equal(numbers(vectorize_graph(x, {mu: mus}), {mus: np.array([1.0, 2.0])}), expected)
