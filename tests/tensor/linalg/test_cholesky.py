"""Cholesky factors: the triangle that is read, failures, derivatives, edges, and errors of ill-conditioned matrices."""

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import linalg as scipy_linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor import linalg

rng = np.random.default_rng(21)
MODES = ("VM", "C", "JAX", "PYTORCH")
# For what records check on the others.
FEW = ("VM", "C")


def run(mode: str, *outs: Any) -> Any:
    with config.change_flags(torch__compile=False):
        return function([], list(outs), mode=mode)()


def positive_definite(*shape: int, dtype: str = "float64") -> Any:
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.startswith("complex") else 0)
    return (x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("mode", FEW)
def test_stacks_without_elements_and_single_numbers_have_factors(mode: str) -> None:
    matrices = [
        np.zeros((0, 0)),
        np.zeros((3, 0, 0)),
        np.zeros((0, 3, 3)),
        np.full((1, 1), 4.0),
        np.full((2, 1, 1, 1), 9.0),
    ]
    for x, factor in zip(matrices, run(mode, *map(linalg.cholesky, matrices)), strict=True):
        np.testing.assert_array_equal(factor, np.linalg.cholesky(x))


@pytest.mark.parametrize("mode", FEW)
@pytest.mark.parametrize("upper", [False, True])
def test_only_one_triangle_is_read_and_the_other_of_the_result_is_zero(mode: str, upper: bool) -> None:
    a = positive_definite(2, 4, 4, dtype="complex128")
    garbled = a.copy()
    garbled[:, *(np.tril_indices(4, -1) if upper else np.triu_indices(4, 1))] = np.nan
    (factor,) = run(mode, linalg.cholesky(garbled, upper=upper))
    np.testing.assert_allclose(factor, np.linalg.cholesky(a, upper=upper), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_a_matrix_that_fails_is_nan_and_the_others_of_the_stack_are_right(mode: str) -> None:
    a = positive_definite(3, 3, 3)
    for bad in (-np.eye(3), np.zeros((3, 3)), np.diag([1.0, np.nan, 1.0]), np.diag([1.0, 1.0, np.inf])):
        a[1] = bad
        factor, x = run(mode, linalg.cholesky(a), linalg.cho_solve((linalg.cholesky(a), True), np.ones(3)))
        assert np.isnan(factor[1]).all()
        assert np.isnan(x[1]).all()
        np.testing.assert_allclose(factor[[0, 2]], np.linalg.cholesky(a[[0, 2]]), rtol=1e-12)
        np.testing.assert_allclose(x[[0, 2]], np.linalg.solve(a[[0, 2]], np.ones((3, 1)))[..., 0], rtol=1e-11)


@pytest.mark.parametrize("mode", FEW)
def test_a_raised_error_names_op_matrix_and_line(mode: str) -> None:
    a = np.stack([np.eye(2), -np.eye(2)])
    with pytest.raises(
        np.linalg.LinAlgError, match=r"Cholesky.*matrix \[1\] .*not positive definite.*test_cholesky.py"
    ):
        run(mode, linalg.cholesky(a, on_error="raise"))
    with pytest.raises(np.linalg.LinAlgError, match=r"CholeskySolve.*NaN or infinities"):
        run(mode, linalg.cho_solve((np.ones((2, 2)), True), np.array([1, np.nan]), on_error="raise"))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64", "complex64"])
def test_dtypes_are_those_of_numpy(dtype: str) -> None:
    a = np.array([[1, 0], [0, 1]], dtype)
    expected = np.linalg.cholesky(a)
    factor = linalg.cholesky(a)
    assert factor.dtype == expected.dtype
    np.testing.assert_array_equal(factor.eval(), expected)


def test_half_precision_is_factored_in_single_as_in_scipy() -> None:
    assert linalg.cholesky(np.eye(2, dtype="float16")).dtype == scipy_linalg.cholesky(np.eye(2, dtype="float16")).dtype


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("lower", [True, False])
def test_first_and_second_derivatives_of_the_log_determinant_are_those_known(dtype: str, lower: bool) -> None:
    a, v = positive_definite(4, 4, dtype=dtype), positive_definite(4, 4, dtype=dtype)
    x = tt.tensor("x", dtype=dtype, shape=(4, 4))
    logdet = 2 * tt.sum(tt.log(tt.diagonal(linalg.cholesky(x, lower)).real))
    slope = tt.grad(logdet, x)
    curve = tt.grad(tt.sum((slope * v.conj()).real), x)
    first, second = function([x], [slope, curve], mode="VM")(a)
    inverse = np.linalg.inv(a)

    def of_triangle(whole: Any) -> Any:
        # An element beside the diagonal stands for two.
        half = np.tril if lower else np.triu
        return half(whole + whole.conj().T) - np.diag(whole.diagonal().real)

    np.testing.assert_allclose(first, of_triangle(inverse), rtol=1e-11, atol=1e-12)
    # A sum over a triangle sees one of two equal terms of each pair.
    seen = np.tril(v) if lower else np.triu(v)
    moved = seen + seen.conj().T - np.diag(seen.diagonal().real)
    np.testing.assert_allclose(second, of_triangle(-inverse @ moved @ inverse), rtol=1e-10, atol=1e-11)


def test_gradients_by_factors_and_right_sides_are_summed_over_broadcast_stacks() -> None:
    c, b = tt.tensor("c", dtype="float64", shape=(3, 3)), tt.tensor("b", dtype="float64", shape=(2, 3, 1))
    by_c, by_b = tt.grad(tt.sum(linalg.cho_solve((c, False), b) ** 2), [c, b])
    factor, sides = np.triu(positive_definite(3, 3)), rng.normal(size=(2, 3, 1))
    whole = function([c, b], [by_c, by_b], mode="VM")
    together = whole(factor, sides)[0]
    alone = [whole(factor, np.stack([side, 0 * side]))[0] for side in sides]
    np.testing.assert_allclose(together, alone[0] + alone[1], rtol=1e-11)


# Forward errors of the factors, relative to the largest element, against 60 digits.
@pytest.mark.parametrize(("name", "bound"), [("hilbert", 1e-11), ("near singular", 2e-11), ("graded", 1e-15)])
def test_errors_of_ill_conditioned_factors_stay_within_bounds(name: str, bound: float) -> None:
    a = {
        "hilbert": scipy_linalg.hilbert(8),
        "near singular": np.ones((4, 4)) + 1e-11 * np.diag([1.0, 2.0, 3.0, 4.0]),
        "graded": np.outer(s := 10.0 ** -np.arange(0, 18, 3), s) * (0.5 + 0.5 * np.eye(6)),
    }[name]
    with mpmath.workdps(60):
        exact = np.array(mpmath.cholesky(mpmath.matrix(a.tolist())).tolist(), float)
    scale = np.abs(exact).max(axis=1, keepdims=True) if name == "graded" else np.abs(exact).max()
    for mode in ("VM", "C"):
        (factor,) = run(mode, linalg.cholesky(a))
        assert np.abs((factor - exact) / scale).max() <= bound


def test_wrong_arguments_are_refused_by_name() -> None:
    a = np.eye(2)
    with pytest.raises(ValueError, match="upper and lower cannot both be False"):
        linalg.cholesky(a, False, upper=False)
    with pytest.raises(ValueError, match="on_error must be one of nan, raise"):
        linalg.cholesky(a, on_error="ignore")
    with pytest.raises(ValueError, match="must be square"):
        linalg.cholesky(np.ones((2, 3)))
    with pytest.raises(ValueError, match="matrix"):
        linalg.cholesky(np.ones(3))
    with pytest.raises(ValueError, match="b_ndim must be one of"):
        linalg.cho_solve((a, True), a, b_ndim=3)
    with pytest.raises(TypeError, match="a pair of factors"):
        linalg.cho_solve((a, True, 1), a)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="lengths m"):
        linalg.cho_solve((a, True), np.ones(3))
