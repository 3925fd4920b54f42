"""LU factors: shapes, failures, permutations and derivatives."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import linalg as scipy_linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor import linalg
from treadle.testing import verify_grad

vm = partial(function, mode="VM")
rng = np.random.default_rng(14)
MODES = ("VM", "C", "JAX", "PYTORCH")


def run(mode: str, *outs: Any) -> Any:
    with config.change_flags(torch__compile=False):
        return function([], list(outs), mode=mode)()


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (0, 3), (2, 3, 2)])
def test_factors_are_those_of_scipy(shape: tuple[int, ...]) -> None:
    a = rng.normal(size=shape)
    several: tuple[dict[str, Any], ...] = ({}, {"permute_l": True}, {"p_indices": True})
    for options in several:
        for factor, expected in zip(linalg.lu(a, **options), scipy_linalg.lu(a, **options), strict=True):
            assert factor.dtype == expected.dtype
            np.testing.assert_allclose(factor.eval(), expected, rtol=1e-12, atol=1e-14)
    for factor, expected in zip(linalg.lu_factor(a), scipy_linalg.lu_factor(a), strict=True):
        assert factor.dtype == expected.dtype
        np.testing.assert_allclose(factor.eval(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_matrices_without_elements_have_factors_without_elements(mode: str) -> None:
    shapes = [(0, 0), (3, 0), (0, 2, 2), (1, 1)]
    ones = [np.ones(shape) for shape in shapes]
    factors = run(mode, *(part for x in ones for part in (*linalg.lu(x), *linalg.lu_factor(x))))
    for at, shape in enumerate(shapes):
        (*batch, m, n), k = shape, min(shape[-2:])
        parts = factors[5 * at : 5 * at + 5]
        assert [x.shape for x in parts] == [(*batch, m, m), (*batch, m, k), (*batch, k, n), shape, (*batch, k)]
        np.testing.assert_array_equal(parts[0], np.broadcast_to(np.eye(m), (*batch, m, m)))


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
def test_lengths_known_only_at_run_time_change_nothing(shape: tuple[int, ...]) -> None:
    x, a = tt.dmatrix(), rng.normal(size=shape)
    weights = [rng.normal(size=part.shape) for part in scipy_linalg.lu(a)[1:]]
    slopes = []
    for var in (x, tt.matrix("known", shape=shape, dtype="float64")):
        _, low, up = linalg.lu(var)
        cost = (low * weights[0]).sum() + (up * weights[1]).sum()
        slopes.append(vm([var], tt.grad(cost, var))(a))
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-10)


def test_pivots_are_exchanges_one_after_the_other() -> None:
    a = rng.normal(size=(2, 5, 5))
    factor, pivots = linalg.lu_factor(a)
    order, back = linalg.pivot_to_permutation(pivots, inverse=True).eval(), linalg.pivot_to_permutation(pivots).eval()
    held = factor.eval()
    product = (np.tril(held, -1) + np.eye(5)) @ np.triu(held)
    np.testing.assert_allclose(np.take_along_axis(a, order[..., None], -2), product)
    np.testing.assert_allclose(np.take_along_axis(product, back[..., None], -2), a)
    assert order.dtype == "int64"


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_solutions_by_factors_are_those_of_the_matrix(trans: int) -> None:
    a, b = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)), rng.normal(size=(2, 3, 4))
    expected = np.linalg.solve((a, a.T, a.conj().T)[trans], b)
    for mode in MODES:
        (x,) = run(mode, linalg.lu_solve(linalg.lu_factor(a), b, trans))
        np.testing.assert_allclose(x, expected)
    by_one = linalg.lu_solve(scipy_linalg.lu_factor(a), b[..., 0], trans, b_ndim=1).eval()
    np.testing.assert_allclose(by_one, expected[..., 0])


@pytest.mark.parametrize("mode", MODES)
def test_singular_matrices_have_factors_but_no_solutions(mode: str) -> None:
    a = np.stack([np.eye(2), np.ones((2, 2)), np.full((2, 2), np.nan), 2 * np.eye(2)])
    factors = linalg.lu_factor(a)
    held, low, x = run(mode, factors[0], linalg.lu(a)[1], linalg.lu_solve(factors, np.ones(2)))
    np.testing.assert_array_equal(held[:2], [np.eye(2), [[1, 1], [1, 0]]])
    np.testing.assert_allclose(x[[0, 3]], np.array([[1, 1], [0.5, 0.5]]))
    assert np.isnan(held[2]).all()
    assert np.isnan(low[2]).all()
    assert np.isnan(x[1:3]).all()
    for factor in (linalg.lu_factor(a, on_error="raise")[0], linalg.lu(a, on_error="raise")[2]):
        with pytest.raises(np.linalg.LinAlgError, match=r"matrix \[2\] of the batch: .*built at .*test_lu\.py"):
            run(mode, factor)
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix \[1\] of the batch"):
        run(mode, linalg.lu_solve(factors, np.ones(2), on_error="raise"))


@pytest.mark.parametrize("mode", MODES)
def test_pivots_out_of_range_are_refused(mode: str) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="run from 0 to 1, got"):
        run(mode, linalg.pivot_to_permutation(np.array([0, 2])))


def test_a_gradient_through_factors_is_that_of_the_solution() -> None:
    a, b = rng.normal(size=(2, 3, 3)), rng.normal(size=(3, 2))
    x = tt.dtensor3()
    for trans in (0, 1):
        turned = x if trans == 0 else tt.matrix_transpose(x)
        costs = [linalg.lu_solve(linalg.lu_factor(x), b, trans).sum(), linalg.solve(turned, b).sum()]
        slopes = [vm([x], tt.grad(cost, x))(a) for cost in costs]
        np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-8)
    verify_grad(lambda x: tt.grad(linalg.lu_solve(linalg.lu_factor(x), b).sum(), x), [a[0]], rng=rng)


def test_wrong_arguments_are_refused_by_name() -> None:
    factors = linalg.lu_factor(np.eye(2))
    with pytest.raises(ValueError, match="lu_solve: trans must be one of 0, 1, 2, got 3"):
        linalg.lu_solve(factors, np.ones(2), 3)
    with pytest.raises(ValueError, match="lu_solve: factors and pivots are needed, got 3 values"):
        linalg.lu_solve((*factors, 1), np.ones(2))
    with pytest.raises(TypeError, match="lu_solve: pivots must be integers"):
        linalg.lu_solve((np.eye(2), np.ones(2)), np.ones(2))
    with pytest.raises(TypeError, match="pivot_to_permutation: integers are needed"):
        linalg.pivot_to_permutation(np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        linalg.lu_solve(linalg.lu_factor(np.ones((2, 3))), np.ones(2))
