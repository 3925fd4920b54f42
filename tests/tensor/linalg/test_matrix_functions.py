"""Functions of matrices: against exact values, at edges, and their derivatives."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.testing import verify_grad

vm = partial(function, mode="VM")
rng = np.random.default_rng(3)
# Matrices that are hard for matrix functions: large norms, defective, nilpotent, and far from normal.
HARD = {
    "of a large norm": rng.normal(size=(4, 4)) * 20,
    "rotating": np.kron(np.eye(2), [[0, 100.0], [-100, 0]]),
    "defective": np.eye(4) * -2 + np.eye(4, k=1),
    "nilpotent": np.triu(rng.normal(size=(4, 4)), 1) * 1e4,
    "far from normal": np.kron(np.eye(2), [[1, 1e6], [0, -1.0]]),
    "decaying": -np.abs(rng.normal(size=(4, 4))) - np.eye(4) * 100,
    "small": rng.normal(size=(4, 4)) * 1e-3,
}


def exact(of: Callable[[Any], Any], a: np.ndarray) -> np.ndarray:
    """Return a matrix function of mpmath's, computed with 40 digits."""
    with mpmath.workdps(40):
        return np.array(of(mpmath.matrix(a.tolist())).tolist(), dtype=complex)


def error(computed: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(computed - expected).max() / np.abs(expected).max())


# PyTorch scales by the norm alone, which is too much for matrices far from normal.
@pytest.mark.parametrize(
    ("mode", "bound", "far"),
    [("VM", 1e-11, 1e-11), ("C", 1e-12, 1e-12), ("JAX", 1e-12, 1e-12), ("PYTORCH", 1e-12, 1e-10)],
)
def test_exponentials_of_hard_matrices_are_near_the_exact_ones(mode: str, bound: float, far: float) -> None:
    x = tt.dtensor3("x")
    broken = np.eye(4)
    broken[2, 1] = np.inf
    matrices = np.stack(
        [*HARD.values(), np.where(np.isinf(broken), np.nan, broken), broken, np.diag([1000.0, 0, -2, 1])]
    )
    with config.change_flags(torch__compile=False):
        *exponentials, nan, infinite, overflowing = function([x], tt.linalg.expm(x), mode=mode)(matrices)
    for value, (name, a) in zip(exponentials, HARD.items(), strict=True):
        assert error(value, exact(mpmath.expm, a)) < (far if name == "far from normal" else bound), name
    assert np.isnan(nan).all()
    assert np.isnan(infinite).all()
    np.testing.assert_allclose(overflowing, np.diag([np.inf, 1, np.exp(-2), np.e]))


def test_exponential_takes_what_scipy_does() -> None:
    for a in ([[1, 2], [3, 4]], np.ones((2, 2), np.float16), np.ones((2, 2), bool), np.eye(2) * 1j, np.ones((0, 0))):
        value = tt.linalg.expm(a)
        expected = linalg.expm(np.asarray(a))
        assert value.dtype == expected.dtype
        np.testing.assert_allclose(value.eval(), expected, rtol=1e-3 if expected.dtype == "float32" else 1e-12)


def test_exponential_of_anything_but_a_square_matrix_is_refused() -> None:
    for x in (tt.dvector(), tt.tensor(shape=(2, 3))):
        with pytest.raises(tt.ShapeError):
            tt.linalg.expm(x)
    with pytest.raises(tt.ShapeError):
        tt.linalg.expm_frechet(np.eye(2), np.eye(3))


def test_slope_of_the_exponential_is_right_at_zero_and_in_large_directions() -> None:
    x, w = tt.dmatrix("x"), tt.dmatrix("w")
    f = vm([x, w], tt.grad((tt.linalg.expm(x) * w).sum(), x))
    np.testing.assert_allclose(f(np.zeros((2, 2)), np.ones((2, 2))), np.ones((2, 2)))
    np.testing.assert_array_equal(f(np.eye(2), np.zeros((2, 2))), np.zeros((2, 2)))
    a, along = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    np.testing.assert_allclose(f(a, along * 1e12), linalg.expm_frechet(a.T, along)[1] * 1e12, rtol=1e-10)


def test_frechet_derivatives_of_a_batch_share_a_direction() -> None:
    a, along = rng.normal(size=(2, 3, 3)), rng.normal(size=(3, 3))
    value, slope = tt.linalg.expm_frechet(a, along)
    for i in range(2):
        expected = linalg.expm_frechet(a[i], along)
        np.testing.assert_allclose(value.eval()[i], expected[0], rtol=1e-10)
        np.testing.assert_allclose(slope.eval()[i], expected[1], rtol=1e-10)
    assert tt.linalg.expm_frechet(a, along, compute_expm=False).ndim == 3


def test_second_derivatives_of_a_complex_exponential_fit_differences() -> None:
    z = rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2))
    verify_grad(lambda x: tt.grad((abs(tt.linalg.expm(x)) ** 2).sum(), x), [z], n_tests=1, mode="VM")


@pytest.mark.parametrize(("name", "bound"), [("sqrtm", 1e-12), ("logm", 1e-11)])
@pytest.mark.parametrize("mode", ["VM", "C"])
def test_roots_and_logarithms_are_near_the_exact_ones(mode: str, name: str, bound: float) -> None:
    x = tt.dtensor3("x")
    hard = {
        "defective": np.eye(4) * 2 + np.eye(4, k=1),
        "graded": np.diag([1e-6, 1e-3, 1.0, 1e3]) + np.triu(rng.normal(size=(4, 4)), 1) * 1e-3,
        "ill-conditioned": linalg.hilbert(4),
        "turning": linalg.expm(np.kron(np.eye(2), [[0, 3.0], [-3, 0]])),
    }
    matrices = np.stack([*hard.values(), np.diag([1.0, 2, -3, 4]), np.diag([1.0, 2, 0, 4]), np.full((4, 4), np.nan)])
    results = function([x], getattr(tt.linalg, name)(x), mode=mode)(matrices)
    assert np.isnan(results[4:]).all()
    for value, (kind, a) in zip(results, hard.items(), strict=False):
        with np.errstate(all="ignore"):
            assert error(value, exact(getattr(mpmath, name), a)) < bound, kind
    with pytest.raises(np.linalg.LinAlgError):
        vm([], getattr(tt.linalg, name)(matrices[4:5], on_error="raise"))()


def test_slopes_of_hermitian_functions_are_right_where_eigenvalues_coincide() -> None:
    a = np.diag([2.0, 2.0, 2.0 + 1e-9, 5.0])
    for name in ("sqrtm", "logm"):
        x, w = tt.dmatrix("x"), rng.normal(size=(4, 4))
        f = getattr(tt.linalg, name)
        by_values, general = (tt.grad((f(y, hermitian=h) * w).sum(), x) for y, h in ((x, True), (x, False)))
        expected = vm([x], general)(a)
        expected = np.tril(expected + expected.T) - np.diag(np.diag(expected))
        np.testing.assert_allclose(vm([x], by_values)(a), expected, rtol=1e-9, atol=1e-12)


def test_hermitian_functions_have_second_derivatives_and_take_zero_eigenvalues() -> None:
    def slope(y: tt.TensorVariable) -> tt.TensorVariable:
        gradient: tt.TensorVariable = tt.grad((tt.linalg.logm(y @ y.T + np.eye(3), hermitian=True) ** 3).sum(), y)
        return gradient

    verify_grad(slope, [rng.normal(size=(3, 3))], n_tests=1, mode="VM")
    np.testing.assert_allclose(tt.linalg.sqrtm(np.diag([4.0, 0]), hermitian=True).eval(), np.diag([2.0, 0]))
    # Its eigenvalues are 3 and -1.
    assert np.isnan(tt.linalg.sqrtm(np.array([[1.0, 2], [2, 1]]), hermitian=True).eval()).all()


def test_functions_of_a_matrix_with_nan_are_nan() -> None:
    a = np.array([[1.0, np.nan], [0, 1]])
    for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm"):
        assert np.isnan(getattr(tt.linalg, name)(a).eval()).all(), name


def test_integer_powers_are_products_and_other_functions_need_hermitian_matrices() -> None:
    np.testing.assert_allclose(tt.linalg.fractional_matrix_power([[0, 1], [0, 0]], 2).eval(), np.zeros((2, 2)))
    with pytest.raises(tt.ArgumentError, match="hermitian"):
        tt.linalg.funm(np.eye(2), tt.sin)


def test_signs_of_matrices_are_those_of_scipy() -> None:
    a = rng.normal(size=(5, 6, 6))
    signs = vm([], tt.linalg.signm(a))()
    for value, matrix in zip(signs, a, strict=True):
        np.testing.assert_allclose(value, linalg.signm(matrix), rtol=1e-9, atol=1e-10)
    assert np.isnan(tt.linalg.signm([[0.0, 1.0], [-1.0, 0.0]]).eval()).all()


@pytest.mark.parametrize("name", ["expm", "signm", "sqrtm", "logm"])
def test_functions_of_matrices_without_elements_and_of_no_matrices_have_none(name: str) -> None:
    x = tt.dtensor3("x")
    value = getattr(tt.linalg, name)(x)
    f = function([x], [value, tt.grad(value.sum(), x)], mode="C")
    for shape in ((2, 0, 0), (0, 2, 2)):
        assert [result.shape for result in f(np.ones(shape))] == [shape, shape]


def test_threads_leave_the_filters_of_warnings_as_they_were() -> None:
    a = tt.dmatrix("a")
    f = function([a], tt.linalg.logm(a), mode="VM")
    before, value = list(warnings.filters), np.diag([1.0, 2.0, 3.0]) + 0.1
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(f, [value] * 600))
    assert warnings.filters == before
