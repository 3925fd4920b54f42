"""Singular values and vectors, and functions of them: edge cases, failures, and derivatives beyond the records."""

from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor import ArgumentError, MatrixError, ShapeError
from treadle.testing import verify_grad

# Results are one tensor or several, as arguments say.
linalg: Any = tt.linalg
rng = np.random.default_rng(8)
verified = partial(verify_grad, mode="VM", abs_tol=2e-6, rel_tol=2e-6)
MODES = ("VM", "C", "JAX", "PYTORCH")


def drawn(shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray:
    values = rng.normal(size=shape)
    return (values + 1j * rng.normal(size=shape) if dtype.startswith("complex") else values).astype(dtype)


def run(mode: str, *outs: Any) -> Any:
    with config.change_flags(torch__compile=False):
        return function([], list(outs), mode=mode)()


def adjoint(x: Any) -> Any:
    return x.conj().swapaxes(-1, -2)


@pytest.mark.parametrize(
    ("mode", "shape"),
    [
        *((mode, shape) for mode in ("VM", "C") for shape in ((0, 0), (0, 3), (3, 0), (1, 1), (2, 4, 3), (0, 2, 3))),
        *((mode, (0, 3)) for mode in ("JAX", "PYTORCH")),
    ],
    ids=str,
)
def test_singular_values_are_numpys_and_vectors_multiply_to_the_matrix(mode: str, shape: tuple[int, ...]) -> None:
    a = drawn(shape, "complex128")
    u, s, vh, thin, _, flat, alone = run(
        mode,
        *linalg.svd(a),
        *linalg.svd(a, full_matrices=False),
        linalg.svdvals(a),
    )
    expected = np.linalg.svd(a)
    k = s.shape[-1]
    assert (u.shape, vh.shape) == (expected.U.shape, expected.Vh.shape)
    assert (thin.shape[-1], flat.shape[-2], s.dtype) == (k, k, np.float64)
    for values in (s, alone):
        np.testing.assert_allclose(values, expected.S, atol=1e-13)
    np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, atol=1e-12)
    for vectors in (u, adjoint(vh)):
        one = np.broadcast_to(np.eye(vectors.shape[-1]), vectors.shape)
        np.testing.assert_allclose(adjoint(vectors) @ vectors, one, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_one_bad_matrix_leaves_the_others_alone(mode: str) -> None:
    a = drawn((3, 3, 2))
    a[1, 2, 0] = np.nan
    u, s, vh = run(mode, *linalg.svd(a))
    assert all(np.isnan(x[1]).all() for x in (u, s, vh))
    np.testing.assert_allclose(s[[0, 2]], np.linalg.svdvals(a[[0, 2]]))
    with pytest.raises(MatrixError, match=r"SVD.*matrix \[1\] of the batch.*test_svd\.py"):
        run(mode, linalg.svdvals(a, on_error="raise"))


def test_forms_and_dtypes_are_numpys() -> None:
    x = tt.matrix()
    assert linalg.svd(x)._fields == np.linalg.svd(np.eye(2))._fields
    for dtype, real in (("float16", "float32"), ("int8", "float64"), ("bool", "float64"), ("complex64", "float32")):
        assert linalg.svdvals(np.eye(2, dtype=dtype)).dtype == real
    with pytest.raises(ShapeError, match="a matrix"):
        linalg.svd(tt.vector())


def test_vectors_of_equal_values_do_not_spoil_gradients_by_the_values() -> None:
    x = tt.matrix()
    _, s, _ = linalg.svd(x)
    for value in (s, linalg.svdvals(x)):
        np.testing.assert_allclose(tt.grad((value * [3, 3, 3]).sum(), x).eval({x: np.eye(3)}), 3 * np.eye(3))
    # The sum of singular values is differentiable twice, where none is 0, whether or not they coincide.
    slope = tt.grad(linalg.norm(x, "nuc"), x)
    turned = tt.grad(slope[0, 1], x).eval({x: np.eye(3)})
    np.testing.assert_allclose(turned, np.array([[0, 0.5, 0], [-0.5, 0, 0], [0, 0, 0]]), atol=1e-12)


def _invariant(full: bool, x: Any) -> Any:
    u, s, vh = linalg.svd(x, full)
    k = s.type.shape[-1]
    u, vh = u[..., :k], vh[..., :k, :]
    return (u * tt.exp(s / 3)[..., None, :]) @ adjoint(u) @ x + (u * tt.cos(s)[..., None, :]) @ vh


def _outside(x: Any) -> Any:
    u, s, vh = linalg.svd(x)
    k = s.type.shape[-1]
    more = u[:, k:] if x.type.shape[0] > k else adjoint(vh[k:])
    return more @ adjoint(more)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)], ids=str)
def test_gradients_hold_for_what_does_not_depend_on_the_choice_of_vectors(shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(shape, dtype)
    for full in (True, False):
        verified(partial(_invariant, full), [a])
    if a.ndim == 2 and shape[0] != shape[1]:
        verified(_outside, [a])
    verified(lambda x: linalg.polar(x)[0], [a])
    verified(lambda x: linalg.polar(x, "left")[1], [a])
    for order in (2, -2, "nuc"):
        verified(lambda x, p=order: linalg.matrix_norm(x, ord=p), [a])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_second_derivatives_hold(dtype: str) -> None:
    def slope(x: Any) -> Any:
        return tt.grad((_invariant(False, x) * np.arange(1, 13).reshape(4, 3)).real.sum(), x)

    verify_grad(slope, [drawn((4, 3), dtype)], mode="VM", abs_tol=1e-4, rel_tol=1e-4)


def test_polar_factors_have_gradients_where_singular_values_coincide() -> None:
    verified(lambda x: linalg.polar(x)[0], [np.eye(3)])
    with pytest.raises(ArgumentError, match="'right', 'left'"):
        linalg.polar(tt.matrix(), "up")


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_hermitian_matrices_are_decomposed_by_eigenvalues(mode: str) -> None:
    a = drawn((2, 3, 3), "complex128")
    whole = np.tril(a) + adjoint(np.tril(a, -1))
    whole.imag[..., range(3), range(3)] = 0
    u, s, vh, alone = run(mode, *linalg.svd(a, hermitian=True), linalg.svd(a, compute_uv=False, hermitian=True))
    np.testing.assert_allclose(s, np.linalg.svdvals(whole))
    np.testing.assert_allclose(alone, s)
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, whole, atol=1e-12)


@pytest.mark.parametrize("name", ["orth", "null_space"])
def test_bases_have_as_many_vectors_as_the_rank_leaves(name: str) -> None:
    for a in (drawn((4, 3)), drawn((4, 1)) @ drawn((1, 3)), np.zeros((2, 3)), drawn((2, 4), "complex128")):
        x = tt.matrix(dtype=a.dtype)
        expected = getattr(scipy.linalg, name)(a)
        for mode in ("VM", "C"):
            basis = function([x], getattr(linalg, name)(x), mode=mode)(a)
            assert basis.shape == expected.shape
            np.testing.assert_allclose(basis @ adjoint(basis), expected @ adjoint(expected), atol=1e-12)
    with pytest.raises(ShapeError, match="one matrix"):
        getattr(linalg, name)(tt.tensor3())


def test_angles_between_subspaces_are_scipys_small_ones_too() -> None:
    a, x, y = drawn((5, 2)), tt.matrix(), tt.matrix()
    for b in (drawn((5, 3)), a + 1e-9 * drawn((5, 2)), drawn((5, 1))):
        angles = linalg.subspace_angles(x, y).eval({x: a, y: b})
        np.testing.assert_allclose(angles, scipy.linalg.subspace_angles(a, b), rtol=1e-5, atol=1e-14)
    with pytest.raises(ShapeError, match="same number of rows"):
        linalg.subspace_angles(np.eye(3), np.eye(2))


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_singular_values_of_ill_conditioned_matrices_are_as_exact_as_the_largest_allows(mode: str) -> None:
    # Weyl: they err by the norm of the backward error (N. Higham, 2002, section 21.1), however small they are.
    graded = np.diag(10.0 ** -np.arange(8)) @ drawn((8, 8)) @ np.diag(10.0 ** -np.arange(8))
    for a in (scipy.linalg.hilbert(12), graded):
        with mpmath.workdps(60):
            exact = np.array([float(s) for s in mpmath.svd_r(mpmath.matrix(a.tolist()), compute_uv=False)])
        (singular_values,) = run(mode, linalg.svdvals(a))
        assert np.abs(singular_values - exact).max() < 8 * np.finfo("float64").eps * exact[0]
