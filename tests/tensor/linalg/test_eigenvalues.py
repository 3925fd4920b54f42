"""Eigenvalues and eigenvectors against NumPy, SciPy and mpmath: edges, failures, degenerate and ill-conditioned."""

from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor import ArgumentError, MatrixError, ShapeError, linalg
from treadle.testing import verify_grad

vm = partial(function, mode="VM")
MODES = ("VM", "C", "JAX", "PYTORCH")
EPS = np.finfo("float64").eps


def _array(*shape: int, dtype: str = "float64") -> np.ndarray:
    rng = np.random.default_rng(7)
    x = rng.normal(size=shape) * 3
    return (x + 1j * rng.normal(size=shape)).astype(dtype) if dtype.startswith("c") else x.astype(dtype)


def _run(build: Callable[[Any], Any], a: np.ndarray, mode: str) -> Any:
    """Return what a backend computes from an array that it is passed: constants would be folded."""
    x = tt.tensor("a", dtype=a.dtype, shape=(None,) * a.ndim)
    with config.change_flags(torch__compile=False):
        return function([x], build(x), mode=mode)(a)


def _nearest(computed: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the distance of each eigenvalue to the nearest of others."""
    distance: np.ndarray = abs(computed[:, None] - wanted).min(1)
    return distance


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex64"])
def test_other_dtypes_are_computed_as_in_scipy(dtype: str) -> None:
    a = _array(3, 3, dtype=dtype)
    w, v = linalg.eigh(a)
    z, u = linalg.eig(a)
    wide = "float64" if dtype == "int8" else "complex64" if dtype == "complex64" else "float32"
    assert (w.dtype, v.dtype) == ("float64" if dtype == "int8" else "float32", wide)
    assert z.dtype == u.dtype == linalg.eigvals(a).dtype == ("complex128" if dtype == "int8" else "complex64")
    np.testing.assert_allclose(vm([], w)(), np.linalg.eigvalsh(a.astype(wide)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (0, 3, 3), (2, 0, 0)])
def test_small_and_empty_matrices_have_results(shape: tuple[int, ...]) -> None:
    a = np.full(shape, 5.0)
    x = tt.tensor(dtype="float64", shape=(None,) * len(shape))
    outputs = [*linalg.eigh(x), linalg.eigvalsh(x), *linalg.eig(x), linalg.eigvals(x)]
    slopes = tt.grad(tt.sum(linalg.eigvalsh(x)) + tt.sum(linalg.eigvals(x)).real, x)
    *results, slope = vm([x], [*outputs, slopes])(a)
    wanted = [*np.linalg.eigh(a), np.linalg.eigvalsh(a), *np.linalg.eig(a), np.linalg.eigvals(a)]
    for y, z in zip(results, wanted, strict=True):
        np.testing.assert_allclose(y, z)
    np.testing.assert_allclose(slope, np.full(shape, 2.0) * np.eye(shape[-1]))


@pytest.mark.parametrize("mode", MODES)
def test_a_matrix_that_is_not_finite_has_nan_beside_others(mode: str) -> None:
    a = _array(3, 4, 4)
    a[1, 2, 1] = np.nan
    # What is not read may be anything.
    a[2, 0, 3] = np.inf
    w, v, u, z, x, y = _run(lambda m: [*linalg.eigh(m), linalg.eigvalsh(m), *linalg.eig(m), linalg.eigvals(m)], a, mode)
    for results in (w, v, u, z, x, y):
        assert np.isnan(results[1]).all()
        assert np.isfinite(results[0]).all()
    np.testing.assert_allclose(w[2], np.linalg.eigvalsh(np.tril(a[2])), rtol=1e-12)
    np.testing.assert_allclose(u, w)
    assert np.isnan(z[2]).all()
    np.testing.assert_allclose(a[0] @ x[0], x[0] * z[0], atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["eigh", "eigvals"])
def test_a_failure_is_an_error_if_wanted(name: str, mode: str) -> None:
    a = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    with pytest.raises(np.linalg.LinAlgError, match=r"(?s)Eig.*matrix \[1\] of the batch.*test_eigenvalues\.py"):
        _run(partial(getattr(linalg, name), on_error="raise"), a, mode)


def test_eigh_takes_the_arguments_of_numpy_and_scipy() -> None:
    a = _array(4, 4)
    upper = np.linalg.eigvalsh(a, "U")
    for w, *_ in (
        linalg.eigh(a, "U"),
        linalg.eigh(a, UPLO="u"),
        linalg.eigh(a, lower=False),
        [linalg.eigvalsh(a, "U")],
    ):
        np.testing.assert_allclose(vm([], w)(), upper)
    part = linalg.eigh(a, subset_by_index=[1, 2])
    assert vm([], list(part))()[1].shape == (4, 2)
    np.testing.assert_allclose(vm([], part.eigenvalues)(), np.linalg.eigvalsh(a)[1:3])
    np.testing.assert_allclose(vm([], linalg.eigh(a, eigvals_only=True))(), np.linalg.eigvalsh(a))
    assert linalg.eig(a, right=False).dtype == "complex128"


def test_functions_of_numpy_build_expressions() -> None:
    x = tt.dmatrix("x")
    assert np.linalg.eigh(x, UPLO="U")[0].owner.op == tt.Eigh(lower=False)  # type: ignore[call-overload]
    assert np.linalg.eigvalsh(x).owner.op == tt.Eigvalsh()  # type: ignore[call-overload]
    assert np.linalg.eig(x)[1].owner.op == tt.Eig()  # type: ignore[call-overload]
    assert np.linalg.eigvals(x).owner.op == tt.Eigvals()  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "options",
    [
        {"UPLO": "X"}, {"driver": "fast"}, {"driver": "gvd"}, {"type": 4}, {"on_error": "stop"},
        {"subset_by_index": (2, 4)}, {"subset_by_index": (1,)}, {"subset_by_value": (0.0, 1.0)},
    ],
    ids=str,
)  # fmt: skip
def test_an_unknown_choice_is_refused(options: dict[str, Any]) -> None:
    for compute in (linalg.eigh, linalg.eigvalsh):
        with pytest.raises(ArgumentError, match=compute.__name__):
            compute(np.eye(4), **options)


def test_matrices_that_do_not_fit_are_refused() -> None:
    for compute in (linalg.eigh, linalg.eigvalsh, linalg.eig, linalg.eigvals):
        with pytest.raises(ShapeError, match=f"{compute.__name__}: .*square"):
            compute(np.ones((2, 3)))
        with pytest.raises(ShapeError, match=compute.__name__):
            compute(np.ones(3))
    with pytest.raises(ShapeError, match="one shape"):
        linalg.eigh(np.eye(3), np.eye(2))
    with pytest.raises(MatrixError):
        linalg.eigh(np.eye(2), -np.eye(2), on_error="raise")[0].eval()


def test_generalised_and_left_problems_of_eig_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"solve\(b, a\)"):
        linalg.eig(np.eye(2), np.eye(2))  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="left eigenvectors"):
        linalg.eig(np.eye(2), left=True)  # type: ignore[call-overload]


# The generalised problem


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("lower", [True, False])
def test_generalised_problems_are_those_of_scipy(lower: bool, dtype: str) -> None:
    a, b = _array(2, 1, 3, 3, dtype=dtype), _array(3, 3, dtype=dtype)
    b = b @ b.conj().T + np.eye(3)
    problems = [linalg.eigh(a, b, lower, type=kind) for kind in (1, 2, 3)]
    results = vm([], [x for problem in problems for x in problem])()
    for kind in (1, 2, 3):
        w, v = scipy.linalg.eigh(a, b, lower=lower, type=kind)
        np.testing.assert_allclose(results[2 * kind - 2], w, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(abs(results[2 * kind - 1]), abs(v), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_generalised_problems_have_gradients_by_the_triangles_that_are_read(kind: int) -> None:
    a, b = _array(3, 3), np.eye(3) * 4 + _array(3, 3) / 9
    verify_grad(lambda x, y: linalg.eigvalsh(x, y, type=kind), [a, b], mode="VM")
    slope = tt.grad(tt.sum(abs(linalg.eigh(a, x := tt.constant(b), type=kind)[1])), x)
    np.testing.assert_array_equal(np.triu(slope.eval(), 1), 0)


def test_a_generalised_problem_without_a_factor_has_nan_beside_others() -> None:
    b = np.stack([np.eye(2), -np.eye(2)])
    w, v = vm([], list(linalg.eigh(np.diag([3.0, 1.0]), b)))()
    np.testing.assert_allclose(w, np.array([[1, 3], [np.nan, np.nan]]))
    assert np.isnan(v[1]).all()


# Derivatives


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_of_eigenvectors_hold_for_the_phase_that_they_have(dtype: str) -> None:
    a = _array(4, 4, dtype=dtype)
    verify_grad(lambda x: linalg.eig(x)[1], [a], mode="VM")
    slope = lambda x: tt.grad(tt.sum(linalg.eig(x)[1].imag ** 3 + linalg.eig(x)[1].real), x)  # noqa: E731
    verify_grad(slope, [a], mode="VM")


@pytest.mark.parametrize("lower", [True, False])
def test_what_is_not_read_has_no_gradient(lower: bool) -> None:
    a = tt.constant(_array(3, 3, dtype="complex128"))
    w, v = linalg.eigh(a, lower=lower)
    slope = tt.grad(tt.sum(w**2) + tt.sum(abs(v) ** 3), a).eval()
    hidden = np.triu(slope, 1) if lower else np.tril(slope, -1)
    np.testing.assert_array_equal(hidden, 0)
    np.testing.assert_array_equal(np.diag(slope).imag, 0)


def test_functions_of_eigenvalues_that_coincide_have_finite_derivatives() -> None:
    x = tt.dmatrix()
    w, v = linalg.eigh(x)
    first = tt.grad(tt.sum(w**2), x)
    of_values = tt.grad(tt.sum(linalg.eigvalsh(x) ** 2), x)
    second = tt.grad(tt.sum(tt.diagonal(of_values)), x)
    # By the space of the largest eigenvalue, not by how the others split theirs.
    largest = tt.grad(tt.sum(tt.outer(v[:, -1], v[:, -1]) * np.arange(9.0).reshape(3, 3)), x)
    compute = vm([x], [first, of_values, second, largest, tt.grad(tt.sum(linalg.eigvals(x) ** 2).real, x)])
    for gradient in compute(np.eye(3))[:2]:
        np.testing.assert_allclose(gradient, 2 * np.eye(3), atol=1e-15)
    np.testing.assert_allclose(compute(np.eye(3))[2], 2 * np.eye(3), atol=1e-15)
    ones = np.ones((3, 3))
    _, _, _, slope, of_general = compute(ones)
    # By Giles' formula for the one vector, of which the others are the complement.
    c = np.arange(9.0).reshape(3, 3)
    u = np.ones(3) / np.sqrt(3)
    whole = np.outer(u, (np.eye(3) - np.outer(u, u)) @ (c + c.T) @ u) / 3
    np.testing.assert_allclose(slope, np.tril(whole + whole.T) - np.diag(np.diag(whole)), atol=1e-13)
    np.testing.assert_allclose(of_general, 2 * ones, atol=1e-13)


def test_forward_derivatives_are_those_of_finite_differences() -> None:
    a, da = _array(3, 3), _array(3, 3)[::-1].copy()
    x = tt.dmatrix()
    moved = tt.pushforward(linalg.eigvalsh(x), x, tt.constant(da))
    slope = (np.linalg.eigvalsh(a + 1e-6 * da) - np.linalg.eigvalsh(a - 1e-6 * da)) / 2e-6
    np.testing.assert_allclose(vm([x], moved)(a), slope, rtol=1e-6)


# Accuracy


@pytest.mark.parametrize("mode", MODES)
def test_eigenvalues_of_ill_conditioned_symmetric_matrices_are_right_to_rounding_of_the_largest(mode: str) -> None:
    n = 8
    hilbert = scipy.linalg.hilbert(n)
    scale = 10.0 ** -np.arange(n)
    graded = scale[:, None] * (np.eye(n) + 0.1) * scale
    results = _run(linalg.eigvalsh, np.stack([hilbert, graded]), mode)
    with mpmath.workdps(60):
        for a, w in zip((hilbert, graded), results, strict=True):
            exact = mpmath.eigsy(mpmath.matrix(a.tolist()), eigvals_only=True)
            error = max(abs(mpmath.mpf(float(x)) - y) for x, y in zip(w, sorted(exact), strict=True))
            assert error <= 4 * EPS * w[-1]


@pytest.mark.parametrize("mode", MODES)
def test_eigenvalues_of_matrices_far_from_normal_are_right_to_their_condition(mode: str) -> None:
    n = 8
    # Frank's matrix, of which the worst eigenvalue has the condition 2.8e3.
    frank = np.array([[n - max(i, j) if j >= i - 1 else 0 for j in range(n)] for i in range(n)], "float64")
    eigenvalues = _run(linalg.eigvals, frank, mode)
    with mpmath.workdps(60):
        exact = np.array([float(mpmath.re(x)) for x in mpmath.eig(mpmath.matrix(frank.tolist()))[0]])
    assert (_nearest(exact, eigenvalues) <= 3e3 * EPS * np.linalg.norm(frank, 2)).all()
