"""Least squares, pseudo-inverses, ranks, condition numbers and fits: edges, failure, and derivatives of low rank."""

from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor import ArgumentError, MatrixError, MatrixShapeError, ShapeError
from treadle.testing import verify_grad

# Results are one tensor or several, as arguments say.
linalg: Any = tt.linalg
polyfit: Any = tt.polyfit
np_linalg: Any = np.linalg
rng = np.random.default_rng(21)
verified = partial(verify_grad, mode="VM", abs_tol=2e-6, rel_tol=2e-6)
MODES = ("VM", "C", "JAX", "PYTORCH")


def drawn(shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray:
    values = rng.normal(size=shape)
    return (values + 1j * rng.normal(size=shape) if dtype.startswith("complex") else values).astype(dtype)


def run(mode: str, *outs: Any) -> Any:
    with config.change_flags(torch__compile=False):
        return function([], list(outs), mode=mode)()


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (4, 3), (3, 4)], ids=str)
def test_every_result_of_least_squares_is_numpys(shape: tuple[int, ...], mode: str) -> None:
    problems, built = [], []
    for dtype in ("float64", "complex128"):
        for a in (drawn(shape, dtype), np.ones(shape, dtype)):
            for b in (drawn(shape[:1], dtype), drawn((shape[0], 2), dtype)):
                x, y = tt.matrix(dtype=dtype), tt.tensor(dtype=dtype, ndim=b.ndim)
                problems.append((x, y, a, b))
                built += linalg.lstsq(x, y)
    results = iter(
        function([v for p in problems for v in p[:2]], built, mode=mode)(*(v for p in problems for v in p[2:]))
    )
    for _, _, a, b in problems:
        for expected in map(np.asarray, np.linalg.lstsq(a, b)):
            result = next(results)
            assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(result, expected, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_stacks_of_problems_broadcast_and_fail_alone(mode: str) -> None:
    a, b = drawn((4, 3)), drawn((2, 4, 1))
    b[1, 0] = np.nan
    x, residuals, rank, s = run(mode, *linalg.lstsq(a, b))
    expected = np.linalg.lstsq(a, b[0])
    np.testing.assert_allclose(x[0], expected[0])
    np.testing.assert_allclose(residuals[0], expected[1])
    assert rank.tolist() == [3, 0]
    assert all(np.isnan(v[1]).all() for v in (x, residuals, s))
    with pytest.raises(MatrixError, match=r"matrix \[1\] of the batch.*test_least_squares\.py") as caught:
        run(mode, linalg.lstsq(a, b, on_error="raise")[0])
    assert "Lstsq" in str(caught.value)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_hold_where_the_rank_is_low_but_does_not_change(dtype: str) -> None:
    u, v, b = drawn((4, 2), dtype), drawn((2, 3), dtype), drawn((4, 2), dtype)
    verified(lambda u, v, b: linalg.lstsq(u @ v, b, rcond=1e-6)[0], [u, v, b])
    verified(lambda u, v: linalg.pinv(u @ v, rcond=1e-6), [u, v])
    verified(lambda u, b: linalg.lstsq(u, b)[1], [u, b])


def test_pseudo_inverses_have_gradients_where_singular_values_coincide() -> None:
    verified(linalg.pinv, [np.eye(3, 4)])
    verified(partial(linalg.pinv, hermitian=True), [np.diag([1.0, -1.0, 1.0])])
    x = tt.matrix()
    second = tt.grad(tt.grad(linalg.pinv(x).sum(), x).sum(), x)
    assert np.isfinite(second.eval({x: np.eye(3)})).all()


def test_only_the_triangle_that_is_read_has_a_gradient() -> None:
    a, x = drawn((3, 3)), tt.matrix()
    for inverse, k in ((linalg.pinv(x, hermitian=True), 1), (linalg.pinvh(x, lower=False), -1)):
        slope = tt.grad((inverse * np.arange(9).reshape(3, 3)).sum(), x).eval({x: a})
        assert not (np.triu(slope, 1) if k > 0 else np.tril(slope, -1)).any()
        assert np.count_nonzero(slope) == 6


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_pseudo_inverses_are_numpys(mode: str) -> None:
    low, high = drawn((2, 4, 1)) @ drawn((1, 3)), drawn((2, 3, 4), "complex128")
    sizes = np.array([1e-3, 0.9])
    cases: list[tuple[Any, Any]] = [
        (low, {"rcond": 1e-9}),
        *((high, options) for options in ({}, {"rcond": sizes}, {"rtol": None})),
        *((np.ones(shape), {}) for shape in ((2, 3), (0, 3))),
        (drawn((3, 3)), {"hermitian": True}),
    ]
    inverses = run(mode, *(linalg.pinv(a, **options) for a, options in cases))
    for result, (a, options) in zip(inverses, cases, strict=True):
        np.testing.assert_allclose(result, np.linalg.pinv(a, **options), atol=1e-10)


def test_pinv_takes_hermitian_in_second_place_as_documented() -> None:
    a = drawn((3, 3))
    np.testing.assert_allclose(linalg.pinv(a, True).eval(), np.linalg.pinv(a, hermitian=True))
    with pytest.raises(ArgumentError, match="both"):
        linalg.pinv(a, 1e-3, rtol=1e-3)
    with pytest.raises(MatrixShapeError, match="square"):
        linalg.pinv(np.ones((2, 3)), hermitian=True)


def test_pinvh_counts_what_scipy_counts() -> None:
    a = np.diag([3.0, -2.0, 1e-3])
    for options in ({}, {"atol": 1e-2}, {"rtol": 0.9}, {"atol": 0.5, "rtol": 0.5}):
        inverse, rank = linalg.pinvh(a, return_rank=True, **options)
        expected, count = scipy.linalg.pinvh(a, return_rank=True, **options)
        np.testing.assert_allclose(inverse.eval(), expected)
        assert rank.eval() == count


def test_ranks_are_numpys() -> None:
    cases = [np.zeros((3, 2)), np.ones((2, 3, 3)), np.ones((0, 3)), np.eye(3, dtype="int8"), np.zeros(3), np.ones(()),
             np.diag([1.0, 1e-5, 1e-18])]  # fmt: skip
    for a in cases:
        ranks, expected = linalg.matrix_rank(a).eval(), np.linalg.matrix_rank(a)
        np.testing.assert_array_equal(ranks, expected)
        assert ranks.dtype == np.int64
    wide = np.diag([1.0, 1e-5, 1e-18])
    assert linalg.matrix_rank(wide, tol=1e-3).eval() == linalg.matrix_rank(wide, rtol=1e-3, hermitian=True).eval() == 1
    with pytest.raises(ArgumentError, match="both"):
        linalg.matrix_rank(wide, 1.0, rtol=1.0)


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"], ids=str)
def test_condition_numbers_are_numpys(p: Any) -> None:
    bad = np.full((2, 2), np.nan)
    # NumPy raises for the norm of an inverse that does not exist.
    for a in (drawn((2, 3, 3)), *([np.ones((2, 2)), np.zeros((2, 2))] if p != "nuc" else [])):
        with np.errstate(all="ignore"):
            expected = np.linalg.cond(a, p)
        # Of a matrix of low rank rounding makes it infinite, or merely large.
        np.testing.assert_allclose(np.minimum(linalg.cond(a, p).eval(), 1e15), np.minimum(expected, 1e15), atol=1e-12)
    assert np.isnan(linalg.cond(bad, p).eval())
    with pytest.raises(MatrixShapeError, match="empty"):
        linalg.cond(np.ones((0, 0)), p)


def test_norms_of_no_elements_are_numpys() -> None:
    for order in (2, "nuc"):
        assert linalg.norm(np.ones((0, 3)), order).eval() == np.linalg.norm(np.ones((0, 3)), order) == 0
    with pytest.raises(ValueError, match=r"zero-size|no identity|empty"):
        linalg.norm(np.ones((0, 3)), -2).eval()
    with pytest.raises(ArgumentError, match="'nuc', 1, -1, 2"):
        linalg.norm(tt.matrix(), 3)


def test_fits_are_numpys() -> None:
    x, w = np.linspace(-1, 2, 9), rng.uniform(0.5, 1, 9)
    for y in (np.cos(3 * x), np.stack([x**2, np.exp(x)], 1)):
        for options in ({}, {"w": w}, {"cov": True}, {"cov": "unscaled", "w": w}, {"full": True}):
            fit, expected = polyfit(x, y, 3, **options), np.polyfit(x, y, 3, **options)
            pairs = zip(fit, expected, strict=True) if isinstance(expected, tuple) else [(fit, expected)]
            for var, wanted in pairs:
                np.testing.assert_allclose(var.eval(), wanted, atol=1e-9)
    with pytest.raises(ShapeError, match="as many x as y"):
        polyfit(x, x[:3], 1)
    with pytest.raises(ShapeError, match="must exceed order"):
        polyfit(x[:3], x[:3], 2, cov=True)


def test_zeros_of_polynomials_have_derivatives() -> None:
    p = np.poly([1.0, 2.0, -4.0])
    np.testing.assert_allclose(np.sort(tt.roots(p).eval().real), [-4, 1, 2])
    verified(lambda p: abs(tt.roots(p)), [p])
    assert tt.roots(np.ones(1)).eval().shape == (0,)


def test_chains_of_matrices_are_multiplied_in_the_cheapest_order() -> None:
    shapes = ((3, 50), (50, 4), (4, 60), (60, 2))
    factors = [tt.tensor(f"m{i}", shape=shape) for i, shape in enumerate(shapes)]
    values = [drawn(shape) for shape in shapes]
    product = linalg.multi_dot(factors)
    # (m0 @ m1) @ (m2 @ m3): 1104 products of numbers; from left to right 1680.
    assert [x.owner.inputs for x in product.owner.inputs] == [factors[:2], factors[2:]]
    inputs = dict(zip(factors, values, strict=True))
    np.testing.assert_allclose(product.eval(inputs), np.linalg.multi_dot(values))
    np.testing.assert_allclose(linalg.matrix_dot(*factors).eval(inputs), np.linalg.multi_dot(values))
    ends = [drawn((3,)), *values, drawn((2,))]
    np.testing.assert_allclose(linalg.multi_dot(ends).eval(), np.linalg.multi_dot(ends))


def test_diagonals_of_stacks_are_those_of_the_last_dimensions() -> None:
    a, x = drawn((2, 3, 4)), tt.tensor3()
    np.testing.assert_allclose(linalg.trace(x, offset=1).eval({x: a}), np.linalg.trace(a, offset=1))
    np.testing.assert_array_equal(linalg.diagonal(x).eval({x: a}), np.linalg.diagonal(a))
    np.testing.assert_array_equal(np_linalg.diagonal(x).eval({x: a}), np.linalg.diagonal(a))


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_solutions_of_ill_conditioned_problems_err_by_what_the_condition_number_allows(mode: str) -> None:
    # P. Wedin, 1973: for a small rest, by the condition number times the backward error.
    a, exact = scipy.linalg.hilbert(9)[:, :6], np.arange(1.0, 7.0)
    b = a @ exact
    with mpmath.workdps(60):
        wanted = mpmath.lu_solve(mpmath.matrix(a.tolist()), mpmath.matrix(b.tolist()))
        inverse = mpmath.matrix(a.tolist())
        inverse = (inverse.T * inverse) ** -1 * inverse.T
    x, p = run(mode, linalg.lstsq(a, b)[0], linalg.pinv(a))
    bound = 20 * np.finfo("float64").eps * np.linalg.cond(a)
    best = np.array([float(v) for v in wanted])
    assert np.linalg.norm(x - best) < bound * np.linalg.norm(best)
    right = np.array(inverse.tolist(), float)
    assert np.linalg.norm(p - right, 2) < bound * np.linalg.norm(right, 2)
