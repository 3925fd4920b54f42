"""QR factors: forms, edge cases, failures, and derivatives beyond the records."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import ArgumentError, MatrixError, NullTypeGradError, ShapeError
from treadle.testing import verify_grad

# Results are one tensor or several, as arguments say.
linalg: Any = tt.linalg
np_linalg: Any = np.linalg
rng = np.random.default_rng(3)
verified = partial(verify_grad, mode="VM", abs_tol=2e-6, rel_tol=2e-6)


def drawn(shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray:
    values = rng.normal(size=shape)
    return (values + 1j * rng.normal(size=shape) if dtype.startswith("complex") else values).astype(dtype)


def flat(results: Any) -> list[Any]:
    return [y for x in results for y in flat(x)] if isinstance(results, tuple) else [results]


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (4, 3), (3, 4)], ids=str)
def test_every_form_is_scipys(shape: tuple[int, ...], mode: str) -> None:
    for dtype in ("float64", "complex128"):
        a, x = drawn(shape, dtype), tt.matrix(dtype=dtype)
        built, expected = [], []
        for form in ("full", "economic", "r", "raw"):
            for pivoting in (False, True):
                built += flat(linalg.qr(x, mode=form, pivoting=pivoting))
                expected += flat(scipy.linalg.qr(a, mode=form, pivoting=pivoting))
        for actual, wanted in zip(function([x], built, mode=mode)(a), expected, strict=True):
            assert actual.dtype == wanted.dtype
            assert actual.shape == wanted.shape
            np.testing.assert_allclose(actual, wanted, atol=1e-12)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
def test_columns_without_elements_keep_their_order(mode: str) -> None:
    x = tt.matrix()
    _, _, p = function([x], list(linalg.qr(x, pivoting=True)), mode=mode)(np.zeros((0, 3)))
    assert p.tolist() == [0, 1, 2]


def test_results_are_named_as_numpy_names_them() -> None:
    x = tt.matrix()
    assert linalg.qr(x)._fields == ("Q", "R")
    assert len(linalg.qr(x, pivoting=True)) == 3
    assert [v.dtype for v in linalg.qr(np.eye(2, dtype="float16"))] == ["float32", "float32"]
    assert [v.dtype for v in linalg.qr(np.eye(2, dtype="int8"))] == ["float64", "float64"]


def test_numpys_function_has_numpys_forms() -> None:
    a, x = drawn((4, 3)), tt.matrix()
    for form in ("reduced", "complete", "r", "raw"):
        built, expected = flat(np_linalg.qr(x, form)), flat(np.linalg.qr(a, form))
        for var, wanted in zip(built, expected, strict=True):
            np.testing.assert_allclose(var.eval({x: a}), wanted, atol=1e-12)
    assert np_linalg.qr(x).Q.eval({x: a}).shape == (4, 3)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_one_bad_matrix_leaves_the_others_alone(mode: str) -> None:
    a, x = drawn((2, 2, 4, 3)), tt.tensor4()
    a[1, 0, 2, 1] = np.inf
    q, r, p = function([x], list(linalg.qr(x, "economic", pivoting=True)), mode=mode)(a)
    assert np.isnan(q[1, 0]).all()
    assert np.isnan(r[1, 0]).all()
    assert not p[1, 0].any()
    for at in ((0, 0), (0, 1), (1, 1)):
        np.testing.assert_allclose(q[at] @ r[at], a[at][:, p[at]], atol=1e-12)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_an_error_names_the_matrix_and_the_line(mode: str) -> None:
    a, x = drawn((3, 2, 2)), tt.tensor3()
    a[2, 0, 0] = np.nan
    r = linalg.qr(x, "r", on_error="raise")
    with pytest.raises(MatrixError, match=r"QR.*matrix \[2\] of the batch.*test_qr\.py") as caught:
        function([x], r, mode=mode)(a)
    assert isinstance(caught.value, np.linalg.LinAlgError)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ShapeError, match="a matrix"):
        linalg.qr(tt.vector())
    with pytest.raises(ValueError, match="mode"):
        linalg.qr(tt.matrix(), "half")
    with pytest.raises(ShapeError, match="rows >= columns >= factors"):
        linalg.householder_product(tt.tensor(shape=(2, 3)), tt.vector())
    with pytest.raises((ArgumentError, ValueError), match="on_error"):
        linalg.qr(tt.matrix(), on_error="ignore")


def _of_first_columns(x: Any) -> Any:
    q, _ = linalg.qr(x)
    return q[..., : min(x.type.shape[-2:])] ** 2


def _of_space(x: Any) -> Any:
    more = linalg.qr(x)[0][:, x.type.shape[1] :]
    return more @ more.conj().T


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (3, 5), (2, 4, 2)], ids=str)
def test_gradients_hold_for_every_form(shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(shape, dtype)
    verified(_of_first_columns, [a])
    verified(lambda x: linalg.qr(x, "r"), [a])
    verified(lambda x: linalg.qr(x, "raw")[1], [a])
    verified(lambda x: linalg.qr(x, "economic", pivoting=True)[1], [a])
    if a.ndim == 2 and shape[0] > shape[1]:
        verified(_of_space, [a])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4)], ids=str)
def test_second_derivatives_hold(shape: tuple[int, ...], dtype: str) -> None:
    def slope(x: Any) -> Any:
        q, r = linalg.qr(x, "economic")
        weights = np.arange(1.0, 1 + shape[0])[:, None]
        return tt.grad((q * weights).real.sum() + (r**3).real.sum(), x)

    verify_grad(slope, [drawn(shape, dtype)], mode="VM", abs_tol=1e-4, rel_tol=1e-4)


def test_householder_vectors_have_no_gradient_and_say_so() -> None:
    x = tt.matrix()
    (vectors, _), _ = linalg.qr(x, "raw")
    with pytest.raises(NullTypeGradError, match="another mode"):
        tt.grad(vectors.sum(), x)


def test_householder_products_are_lapacks_and_have_gradients() -> None:
    a, x, t = drawn((5, 3), "complex128"), tt.zmatrix(), tt.zvector()
    (vectors, tau), _ = scipy.linalg.qr(a, mode="raw")
    product = linalg.householder_product(x, t)
    for mode in ("VM", "C"):
        q = function([x, t], product, mode=mode)(vectors, tau)
        np.testing.assert_allclose(q, scipy.linalg.qr(a, mode="economic")[0], atol=1e-12)
    verified(linalg.householder_product, [np.array(vectors), tau * 0.9])


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_factors_of_an_ill_conditioned_matrix_are_orthogonal_and_multiply_to_it(mode: str) -> None:
    # Householder's reflections are backward stable (N. Higham, 2002, theorem 19.4), whatever the condition number.
    a, x = scipy.linalg.hilbert(14), tt.matrix()
    q, r = function([x], list(linalg.qr(x)), mode=mode)(a)
    bound = 14 * 14 * np.finfo("float64").eps
    assert np.abs(q.T @ q - np.eye(14)).max() < bound
    assert np.linalg.norm(q @ r - a) < bound * np.linalg.norm(a)
    assert np.array_equal(r, np.triu(r))
