"""PortableGenerator: seeds, states, streams, and the methods that no distribution tests."""

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from treadle.tensor.random import PortableGenerator


@pytest.mark.parametrize("seed", [0, 5, 2**200, [1, 2, 3], np.random.SeedSequence(7), np.int64(3)])
def test_equal_seeds_give_equal_numbers(seed: Any) -> None:
    assert (PortableGenerator(seed).random(3) == PortableGenerator(seed).random(3)).all()


def test_seeds_are_those_of_numpys_seed_sequences() -> None:
    assert PortableGenerator(7) == PortableGenerator(np.random.SeedSequence(7))
    assert PortableGenerator() != PortableGenerator()


@pytest.mark.parametrize("seed", [-1, [3, -1], 1.5, "text", np.random.default_rng(0)])
def test_other_seeds_are_refused(seed: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="PortableGenerator: "):
        PortableGenerator(seed)


@pytest.mark.parametrize("state", [[1, 2], [1.0, 2.0, 3.0], [1, 2**32, 0], "text"])
def test_other_states_are_refused(state: Any) -> None:
    with pytest.raises(ValueError, match="a state is an array of three integers"):
        PortableGenerator(1).state = state


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, PortableGenerator, lambda rng: pickle.loads(pickle.dumps(rng))],
)
def test_copies_draw_the_same_numbers_for_themselves(copied: Callable[[PortableGenerator], PortableGenerator]) -> None:
    rng = PortableGenerator(3)
    rng.random(5)
    other = copied(rng)
    assert other == rng
    first = rng.normal(size=4)
    assert other != rng
    np.testing.assert_array_equal(other.normal(size=4), first)


def test_a_state_read_can_be_set_again() -> None:
    rng = PortableGenerator(3)
    before = rng.state
    first = rng.random(3)
    rng.state = before
    np.testing.assert_array_equal(rng.random(3), first)


def test_advancing_passes_over_blocks_of_two_numbers() -> None:
    numbers = PortableGenerator(3).random(10)
    rng = PortableGenerator(3).advance(2)
    np.testing.assert_array_equal(rng.random(6), numbers[4:])
    np.testing.assert_array_equal(rng.advance(-3).random(2), numbers[4:6])


def test_jumps_add_up_and_leave_the_generator_as_it_is() -> None:
    rng = PortableGenerator(3)
    assert rng.jumped(2) == rng.jumped().jumped()
    assert rng.jumped() != rng
    assert rng == PortableGenerator(3)


def test_children_differ_from_each_other_however_they_were_made() -> None:
    rng = PortableGenerator(3)
    folded = [rng.fold_in(k) for k in (0, 1, 2**63, -1)]
    children = [*folded, *rng.spawn(3), *rng.spawn(2)]
    keys = {tuple(child.state[:2]) for child in [rng, *children]}
    assert len(keys) == 1 + len(children)
    assert rng.fold_in(1) == folded[1]


def test_children_are_uncorrelated() -> None:
    numbers = np.stack([child.random(2000) for child in PortableGenerator(3).spawn(20)])
    off_diagonal = np.corrcoef(numbers)[np.triu_indices(20, 1)] * np.sqrt(2000)
    assert np.abs(off_diagonal).max() < 4.5


def test_threads_draw_no_number_twice() -> None:
    rng = PortableGenerator(3)
    drawn: list[np.ndarray] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        drawn.extend(rng.integers(-(2**63), 2**63 - 1, 10) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.unique(np.concatenate(drawn)).size == 8 * 50 * 10
    assert rng.state[2] == 8 * 50 * 10


# Methods


@pytest.mark.parametrize(
    ("draw", "text"),
    [
        (lambda rng: rng.integers(5, 5), "low >= high"),
        (lambda rng: rng.integers(6, 5, endpoint=True), "low > high"),
        (lambda rng: rng.integers(0, 2**64), "high is out of bounds for int64"),
        (lambda rng: rng.integers(-1, 5, dtype="uint8"), "low is out of bounds for uint8"),
        (lambda rng: rng.triangular(1, 0, 2), "left > mode"),
        (lambda rng: rng.triangular(0, 3, 2), "mode > right"),
        (lambda rng: rng.triangular(1, 1, 1), "left == right"),
        (lambda rng: rng.poisson(1e19), "lam value too large"),
        (lambda rng: rng.negative_binomial(1e18, 1e-5), "n too large or p too small"),
        (lambda rng: rng.choice(0), "a must be a positive integer"),
        (lambda rng: rng.choice([]), "a cannot be empty"),
        (lambda rng: rng.choice(3, 4, replace=False), "larger sample than population"),
        (lambda rng: rng.choice(2, p=[0.5]), "same size"),
        (lambda rng: rng.choice(2, p=[0.5, 0.6]), "do not sum to 1"),
        (lambda rng: rng.choice(2, 2, replace=False, p=[0.0, 1.0]), "Fewer non-zero entries"),
        (lambda rng: rng.multivariate_normal([0, 0], [[1, 2], [2, 1]], check_valid="raise"), "positive-semidefinite"),
        (lambda rng: rng.multivariate_normal([0, 0], [[1.0]]), "same length"),
    ],
)
def test_parameters_are_refused_as_numpy_refuses_them(draw: Callable[[PortableGenerator], Any], text: str) -> None:
    rng = PortableGenerator(3)
    with pytest.raises(ValueError, match=text):
        draw(rng)
    assert rng == PortableGenerator(3)


def test_scalars_are_drawn_where_there_is_no_size() -> None:
    rng = PortableGenerator(3)
    for value in (rng.normal(), rng.gamma(2.0), rng.integers(5), rng.poisson(3.0), rng.choice(5), rng.beta(1e-300, 2)):
        assert np.isscalar(value)


def test_integers_have_limits_of_every_dtype() -> None:
    rng = PortableGenerator(3)
    for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64"):
        limits = np.iinfo(dtype)
        drawn = rng.integers(limits.min, limits.max, 400, dtype=dtype, endpoint=True)
        assert drawn.dtype == dtype
        assert drawn.min() < limits.min // 2 + 10 + limits.max // 20
        assert drawn.max() > limits.max // 10 * 9
    assert rng.integers(0, 2, 50, dtype=bool).dtype == bool


def test_permutations_hold_every_element_once() -> None:
    rng = PortableGenerator(3)
    matrix = np.arange(12).reshape(3, 4)
    assert sorted(rng.permutation(7)) == list(range(7))
    np.testing.assert_array_equal(np.sort(rng.permutation(matrix, axis=1)), matrix)
    np.testing.assert_array_equal(np.sort(rng.permuted(matrix, axis=1)), matrix)
    out = np.empty_like(matrix)
    assert rng.permuted(matrix, out=out) is out
    np.testing.assert_array_equal(np.sort(out, axis=None), np.arange(12))
    shuffled, items = matrix.copy(), ["a", "b", "c"]
    rng.shuffle(shuffled)
    rng.shuffle(items)
    np.testing.assert_array_equal(np.sort(shuffled, axis=0), matrix)
    assert sorted(items) == ["a", "b", "c"]


def test_all_orders_are_equally_likely() -> None:
    rng = PortableGenerator(3)
    orders = rng.permuted(np.broadcast_to(np.arange(3), (6000, 3)), axis=1) @ [9, 3, 1]
    _, counts = np.unique(orders, return_counts=True)
    assert counts.size == 6
    assert np.abs(counts - 1000).max() < 150


def test_choices_follow_the_weights() -> None:
    rng = PortableGenerator(3)
    counts = np.bincount(rng.choice(3, 8000, p=[0.5, 0.0, 0.5]), minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] - 4000) < 250
    first = [rng.choice(["a", "b", "c"], 2, replace=False, p=[0.7, 0.2, 0.1])[0] for _ in range(500)]
    assert abs(first.count("a") - 350) < 50
    assert rng.choice(np.eye(3), 2, axis=1).shape == (3, 2)


def test_bytes_are_as_many_as_asked_for() -> None:
    rng = PortableGenerator(3)
    assert [len(rng.bytes(n)) for n in (0, 1, 4, 9)] == [0, 1, 4, 9]


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normals_have_their_covariances(method: str) -> None:
    cov = np.array([[2.0, 0.6], [0.6, 0.5]])
    vectors = PortableGenerator(3).multivariate_normal([1.0, -1.0], cov, 20_000, method=method)
    np.testing.assert_allclose(vectors.mean(0), [1.0, -1.0], atol=0.04)
    np.testing.assert_allclose(np.cov(vectors.T), cov, atol=0.06)


def test_beta_draws_of_tiny_shapes_are_numbers() -> None:
    drawn = PortableGenerator(3).beta(1e-300, 1e-300, 1000)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert abs(drawn.mean() - 0.5) < 0.06


@pytest.mark.parametrize("size", [-1, (2, -1), (1,), (2,), ()])
def test_sizes_that_the_parameters_do_not_broadcast_to_are_refused(size: Any) -> None:
    with pytest.raises(ValueError, match=r"not compatible|negative dimensions"):
        PortableGenerator(3).normal(np.zeros(3), 1.0, size)


def test_floats_are_drawn_into_an_array_given() -> None:
    wanted = PortableGenerator(3).standard_normal(4, dtype="float32")
    out = np.empty(4, "float32")
    assert PortableGenerator(3).standard_normal(out=out) is out
    np.testing.assert_array_equal(out, wanted)
    with pytest.raises(ValueError, match=r"an array of shape \(3,\) is needed"):
        PortableGenerator(3).random(3, out=out)


def test_limits_of_parameters_warn_no_more_than_numpy_does() -> None:
    rng = PortableGenerator(3)
    assert rng.gamma(1e10, 1e300) == np.inf
    assert rng.noncentral_chisquare(0.5, np.inf) == np.inf
    assert np.isnan(rng.normal(np.inf, np.inf))
    assert rng.beta(1e-300, np.inf) == 0
    with pytest.raises(ValueError, match="n too large or p too small"):
        rng.negative_binomial(1e10, 1e-300)
