"""Schur forms against SciPy: orders, edges, failures, and what backends refuse."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import LoweringError
from treadle.tensor import ArgumentError, NullTypeGradError, ShapeError, TensorTypeError, linalg

vm = partial(function, mode="VM")
SORTS = ("lhp", "rhp", "iuc", "ouc")


def _array(*shape: int, dtype: str = "float64") -> np.ndarray:
    rng = np.random.default_rng(5)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape)).astype(dtype) if dtype.startswith("c") else x.astype(dtype)


def _run(build: Callable[..., Any], *arrays: np.ndarray, mode: str = "VM") -> list[np.ndarray]:
    inputs = [tt.tensor(dtype=a.dtype, shape=(None,) * a.ndim) for a in arrays]
    results: list[np.ndarray] = function(inputs, list(build(*inputs)), mode=mode)(*arrays)
    return results


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("mode", ["VM", "C"])
def test_eigenvalues_are_put_into_the_order_that_is_wanted(mode: str, dtype: str) -> None:
    a, b = _array(4, 4, dtype=dtype), _array(5, 4, 4, dtype=dtype)[4]
    # An infinite eigenvalue.
    b[:, 2] = 0
    output = "real" if dtype == "float64" else "complex"

    def build(x: Any, y: Any) -> list[Any]:
        return [z for sort in SORTS for z in (*linalg.schur(x, sort=sort), *linalg.ordqz(x, y, sort))]

    results = _run(build, a, b, mode=mode)
    for at, sort in enumerate(SORTS):
        t, z, count, *pair = results[9 * at : 9 * at + 9]
        wanted = scipy.linalg.schur(a, output, sort=sort)
        np.testing.assert_allclose(abs(t), abs(wanted[0]), atol=1e-12)
        np.testing.assert_allclose(z @ t @ z.conj().T, a, atol=1e-12)
        assert count == wanted[2]
        others = scipy.linalg.ordqz(a, b, sort, output)
        for x, y in zip(pair[:4], others, strict=False):
            np.testing.assert_allclose(abs(x), abs(y), atol=1e-11)
        np.testing.assert_allclose(pair[4] @ pair[0] @ pair[5].conj().T, a, atol=1e-12)
        np.testing.assert_allclose(pair[4] @ pair[1] @ pair[5].conj().T, b, atol=1e-12)


@pytest.mark.parametrize("mode", ["VM", "C", "JAX"])
def test_real_forms_become_complex_ones(mode: str) -> None:
    t, z = scipy.linalg.schur(_array(5, 5, dtype="float32"))
    complex_form = _run(linalg.rsf2csf, t, z, mode=mode)
    for x, y in zip(complex_form, scipy.linalg.rsf2csf(t, z), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, atol=1e-5)
    np.testing.assert_array_equal(np.tril(complex_form[0], -1), 0)


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (0, 3, 3), (2, 0, 0)])
def test_small_and_empty_matrices_have_forms(shape: tuple[int, ...], mode: str) -> None:
    a = np.full(shape, 2.0)

    def build(x: Any) -> list[Any]:
        t, z, count = linalg.schur(x, sort="rhp")
        return [
            t,
            z,
            count,
            *linalg.qz(x, x, return_eigenvalues=True),
            *linalg.ordqz(x, x, "iuc"),
            *linalg.rsf2csf(t, z),
        ]

    t, z, count, *others = _run(build, a, mode=mode)
    np.testing.assert_array_equal(abs(z), np.ones(shape))
    np.testing.assert_array_equal(t, a)
    np.testing.assert_array_equal(count, np.full(shape[:-2], shape[-1]))
    assert [x.shape[: len(shape) - 1] for x in others] == [shape[:-1]] * len(others)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_a_matrix_that_is_not_finite_has_nan_beside_others(mode: str) -> None:
    a, b = _array(3, 2, 2), np.stack([np.eye(2), np.eye(2), np.full((2, 2), np.nan)])
    a[1, 0, 1] = np.inf
    t, z, count, s, *_, q, _ = _run(lambda x, y: [*linalg.schur(x, sort="lhp"), *linalg.qz(x, y)], a, b, mode=mode)
    assert np.isnan(t[1]).all()
    assert np.isnan(z[1]).all()
    assert count[1] == 0
    np.testing.assert_allclose(z[2] @ t[2] @ z[2].T, a[2], atol=1e-14)
    assert np.isnan(s[1:]).all()
    assert np.isfinite(q[0]).all()
    with pytest.raises(np.linalg.LinAlgError, match=r"(?s)Schur.*matrix \[1\] of the batch.*test_schur\.py"):
        _run(partial(linalg.schur, on_error="raise"), a, mode=mode)


def test_dtypes_are_those_of_scipy() -> None:
    t, z = linalg.schur(np.eye(2, dtype="int16"))
    assert (t.dtype, z.dtype) == ("float64", "float64")
    assert linalg.schur(np.eye(2, dtype="float16"), "complex")[0].dtype == "complex64"
    types = [x.dtype for x in linalg.ordqz(np.eye(2, dtype="float32"), np.eye(2))]
    assert types == ["float64", "float64", "complex128", "float64", "float64", "float64"]
    assert [x.dtype for x in linalg.qz(np.eye(2), np.eye(2), "c")] == ["complex128"] * 4


def test_arguments_that_do_not_fit_are_refused() -> None:
    computes: list[Any] = [linalg.schur, lambda x, **options: linalg.qz(x, x, **options)]
    for compute in computes:
        with pytest.raises(ArgumentError, match="output must be one of"):
            compute(np.eye(2), output="triangular")
        with pytest.raises(ArgumentError, match="sort must be one of"):
            compute(np.eye(2), sort="left")
        with pytest.raises(TensorTypeError, match="sort must be one of"):
            compute(np.eye(2), sort=lambda x: x > 0)
        with pytest.raises(ShapeError, match="square"):
            compute(np.ones((2, 3)))
    with pytest.raises(ShapeError, match="lengths m"):
        linalg.qz(np.eye(2), np.eye(3))


def test_forms_have_no_gradient() -> None:
    x, y = tt.dmatrices("x", "y")
    with pytest.raises(NullTypeGradError, match=r"Schur.* has no derivative"):
        tt.grad(tt.sum(linalg.schur(x)[0]), x)
    with pytest.raises(NullTypeGradError, match=r"QZ.* has no derivative by input 1, y"):
        tt.grad(tt.sum(linalg.qz(x, y)[1]), y)


@pytest.mark.parametrize(
    ("mode", "build"),
    [
        ("JAX", lambda x: linalg.schur(x, sort="lhp")),
        ("JAX", lambda x: linalg.qz(x, x)),
        ("PYTORCH", linalg.schur),
        ("PYTORCH", lambda x: linalg.ordqz(x, x, "iuc")),
    ],
)
def test_backends_without_a_form_say_what_would_help(mode: str, build: Callable[[Any], Any]) -> None:
    x = tt.dmatrix("x")
    with pytest.raises(LoweringError, match=r"(?s)has no .*Schur form.*ompile the function with mode C, NUMBA or VM"):
        function([x], list(build(x)), mode=mode)
