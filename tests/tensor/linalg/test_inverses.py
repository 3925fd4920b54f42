"""Inverses, determinants and powers of square matrices: edges, failures and NumPy's names."""

from functools import partial
from typing import Any

import mpmath
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
# Two regular matrices around a singular one and one with NaN.
MIXED = np.stack([np.diag([2.0, -3.0, 4.0]), np.ones((3, 3)), np.full((3, 3), np.nan), np.eye(3)[[1, 0, 2]]])


def run(mode: str, *outs: Any) -> Any:
    with config.change_flags(torch__compile=False):
        return function([], list(outs), mode=mode)()


@pytest.mark.parametrize("mode", MODES)
def test_singular_matrices_have_no_inverse_a_determinant_of_zero_and_its_logarithm(mode: str) -> None:
    inverse, det, sign, log = run(mode, linalg.inv(MIXED), linalg.det(MIXED), *linalg.slogdet(MIXED))
    assert np.isnan(inverse[1:3]).all()
    np.testing.assert_allclose(inverse[[0, 3]], np.linalg.inv(MIXED[[0, 3]]))
    np.testing.assert_allclose(det, [-24, 0, np.nan, -1])
    np.testing.assert_array_equal(sign[[0, 1, 3]], [-1, 0, -1])
    np.testing.assert_allclose(log, [np.log(24), -np.inf, np.nan, 0])


@pytest.mark.parametrize("mode", MODES)
def test_an_error_of_an_inverse_names_the_matrix_and_the_line_if_wanted(mode: str) -> None:
    with config.change_flags(torch__compile=False):
        f = function([], linalg.inv(MIXED, on_error="raise"), mode=mode)
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix \[1\] of the batch: .*built at .*test_inverses\.py"):
        f()


@pytest.mark.parametrize("mode", MODES)
def test_matrices_without_elements_have_a_determinant_of_one(mode: str) -> None:
    matrices = [np.ones(shape) for shape in ((0, 0), (2, 0, 0), (0, 3, 3))]
    results = run(mode, *(out for x in matrices for out in (linalg.inv(x), linalg.det(x), *linalg.slogdet(x))))
    for at, x in enumerate(matrices):
        expected = (x, np.linalg.det(x), *np.linalg.slogdet(x))
        for result, wanted in zip(results[4 * at : 4 * at + 4], expected, strict=True):
            assert result.dtype == wanted.dtype
            np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("mode", MODES)
def test_the_sign_of_a_complex_determinant_is_of_size_one(mode: str) -> None:
    x = rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3))
    x[1, 2] = x[1, 0]
    sign, log = run(mode, *linalg.slogdet(x.astype("complex64")))
    expected = np.linalg.slogdet(x)
    assert (sign.dtype, log.dtype) == ("complex64", "float32")
    np.testing.assert_allclose(sign[0], expected.sign[0], rtol=1e-5)
    np.testing.assert_allclose(log[0], expected.logabsdet[0], rtol=1e-5)
    assert log[1] < -10


def test_a_determinant_beyond_the_range_on_the_way_is_found() -> None:
    x = np.diag([1e200, 1e200, 1e-200, 1e-200])
    for mode in MODES:
        np.testing.assert_allclose(run(mode, linalg.det(x)), 1, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["bool", "int16", "uint8", "float16", "float32", "complex64"])
def test_dtypes_are_those_of_numpy_which_has_no_half_precision(dtype: str) -> None:
    x = np.array([[2, 1], [0, 1]], dtype)
    expected = np.linalg.inv(x if dtype != "float16" else x.astype("float32"))
    assert linalg.inv(x).dtype == linalg.det(x).dtype == expected.dtype
    np.testing.assert_allclose(linalg.inv(x).eval(), expected)


def test_slogdet_has_numpys_names() -> None:
    result = linalg.slogdet(np.eye(2))
    assert result._fields == np.linalg.slogdet(np.eye(2))._fields
    assert result.sign is result[0]


def test_second_derivatives_of_log_determinants_are_those_of_the_inverse() -> None:
    a = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    x = tt.dmatrix()
    slope = tt.grad(linalg.slogdet(x).logabsdet, x)
    np.testing.assert_allclose(vm([x], slope)(a), np.linalg.inv(a).T)
    curved = vm([x], tt.grad(slope[0, 1], x))(a)
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(curved, -np.outer(inverse[:, 0], inverse[1]).T, rtol=1e-10)
    verify_grad(lambda x: tt.grad(linalg.det(x), x), [a], rng=rng)


@pytest.mark.parametrize("a", [np.ones((2, 2)), np.diag([0.0, 2, 3]), np.zeros((3, 3))], ids=str)
def test_small_singular_matrices_have_derivatives_of_determinants(a: np.ndarray) -> None:
    x = tt.matrix(shape=a.shape, dtype="float64")
    slope = tt.grad(linalg.det(x), x)
    n = len(a)
    cofactors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)
    ]
    np.testing.assert_allclose(vm([x], slope)(a), cofactors, atol=1e-12)
    verify_grad(lambda x: tt.grad(linalg.det(tt.specify_shape(x, a.shape)), x), [a], rng=rng)


SINGULAR = {
    "ones": np.ones((4, 4)), "zeros": np.zeros((3, 3)), "number": np.zeros((1, 1)),
    "pair": np.array([[1.0, 2], [2, 4]]),
    "diagonal": np.diag([1.0, 0, 2]), "equal values": np.diag([1.0, 1, 1, 0]), "rank n - 2": np.diag([1.0, 0, 2, 0]),
    "rank 1": np.diag([0.0, 0, 0, 3]), "up to rounding": rng.normal(size=(4, 2)) @ rng.normal(size=(2, 4)),
    "nearly": np.arange(9.0).reshape(3, 3) + 1, "regular": rng.normal(size=(4, 4)), "empty": np.zeros((0, 0)),
}  # fmt: skip


def cofactors_of(a: np.ndarray) -> np.ndarray:
    left = [[np.delete(np.delete(a, i, 0), j, 1) for j in range(len(a))] for i in range(len(a))]
    rows = [[(-1) ** (i + j) * np.linalg.det(left[i][j]) for j in range(len(a))] for i in range(len(a))]
    return np.array(rows, a.dtype).reshape(a.shape)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_derivatives_of_determinants_are_cofactors_whatever_the_rank(mode: str) -> None:
    x, y = tt.dmatrices("xy")
    value = linalg.det(x)
    slope = tt.grad(value, x)
    second = tt.grad((slope * y).sum(), x)
    outs = [slope, tt.pushforward(value, x, y), second, tt.hessian_vector_product(value, x, y)]
    f = function([x, y], outs, mode=mode)
    for name, a in SINGULAR.items():
        b = rng.normal(size=a.shape)
        step = 1e-4
        moved = (cofactors_of(a + step * b) - cofactors_of(a - step * b)) / (2 * step)
        results = f(a, b)
        np.testing.assert_allclose(results[0], cofactors_of(a), atol=1e-13, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(results[1], (cofactors_of(a) * b).sum(), atol=1e-13, rtol=1e-12, err_msg=name)
        for curved in results[2:]:
            np.testing.assert_allclose(curved, moved, atol=1e-6, rtol=1e-6, err_msg=name)


def test_stacks_and_complex_matrices_have_derivatives_of_determinants_too() -> None:
    z = tt.ztensor3("z")
    slope = tt.grad((linalg.det(z) * (1 - 2j)).real.sum(), z)
    a = np.array([np.diag([1, 0, 2j]), rng.normal(size=(3, 3)) + 1j, np.outer([1, 2j, 3], [1, 1j, 2])])
    wanted = np.array([cofactors_of(m).conj() * (1 + 2j) for m in a])
    np.testing.assert_allclose(vm([z], slope)(a), wanted, atol=1e-12)
    rows = tt.dtensor3("rows")
    each = tt.vmap(lambda m: tt.grad(linalg.det(m), m))(rows)
    np.testing.assert_allclose(vm([rows], each)(a.real), [cofactors_of(m) for m in a.real], atol=1e-12)


@pytest.mark.parametrize("n", [-5, -1, 0, 1, 2, 3, 7, 10])
def test_powers_are_those_of_numpy(n: int) -> None:
    x = np.array([[[2, 1], [1, 1]], [[1, 0], [3, 1]]])
    power, expected = linalg.matrix_power(x, n).eval(), np.linalg.matrix_power(x, n)
    assert power.dtype == expected.dtype
    np.testing.assert_allclose(power, expected, rtol=1e-9, atol=1e-9)


def test_tensors_are_inverted_and_solved_as_matrices() -> None:
    a = rng.normal(size=(4, 6, 8, 3))
    np.testing.assert_allclose(linalg.tensorinv(a).eval(), np.linalg.tensorinv(a))
    b = rng.normal(size=(4, 6))
    np.testing.assert_allclose(linalg.tensorsolve(a, b).eval(), np.linalg.tensorsolve(a, b))
    c = np.moveaxis(a, 1, 3)
    np.testing.assert_allclose(linalg.tensorsolve(c, b, (1, 2)).shape.eval(), np.linalg.tensorsolve(c, b, (1, 2)).shape)


def test_wrong_arguments_are_refused_by_name() -> None:
    for call in (linalg.inv, linalg.det, linalg.slogdet, partial(linalg.matrix_power, n=2)):
        with pytest.raises(np.linalg.LinAlgError, match="must be square, got 2 rows and 3 columns"):
            call(np.ones((2, 3)))
        with pytest.raises(np.linalg.LinAlgError, match="a matrix or a stack of such"):
            call(np.ones(3))
    with pytest.raises(TypeError, match="matrix_power: n must be an integer, known when the graph is built"):
        linalg.matrix_power(np.eye(2), tt.iscalar())  # type: ignore[arg-type]  # refused
    with pytest.raises(TypeError, match="matrix_power: n must be an integer"):
        linalg.matrix_power(np.eye(2), 1.5)  # type: ignore[arg-type]  # refused
    with pytest.raises(ValueError, match="tensorinv: ind must be an integer of 1 or more"):
        linalg.tensorinv(np.ones((2, 2)), 0)
    with pytest.raises(np.linalg.LinAlgError, match="tensorinv"):
        linalg.tensorinv(np.ones((2, 3)), 1)
    with pytest.raises(np.linalg.LinAlgError, match="tensorsolve"):
        linalg.tensorsolve(np.ones((2, 3)), np.ones(2))


@pytest.mark.parametrize("mode", MODES)
def test_errors_of_ill_conditioned_matrices_stay_within_their_condition(mode: str) -> None:
    a = scipy_linalg.hilbert(7)
    with mpmath.workdps(60):
        exact = mpmath.matrix(a.tolist())
        inverse, det = np.array((exact**-1).tolist(), float), mpmath.det(exact)
    computed, of_det, sign, log = run(mode, linalg.inv(a), linalg.det(a), *linalg.slogdet(a))
    unit = np.linalg.cond(a) * np.finfo(float).eps
    assert np.linalg.norm(computed - inverse) <= 4 * unit * np.linalg.norm(inverse)
    assert abs(of_det / float(det) - 1) <= 4 * unit
    assert sign == 1
    assert abs(log - float(mpmath.log(det))) <= 4 * unit


def test_numpys_functions_build_expressions() -> None:
    x: Any = tt.dmatrix()
    value = rng.normal(size=(2, 2))
    expressions = [
        np.linalg.inv(x),
        np.linalg.det(x),
        *np.linalg.slogdet(x),
        np.linalg.matrix_power(x, 3),
        np.linalg.tensorinv(x, 1),
    ]
    expected = [
        np.linalg.inv(value),
        np.linalg.det(value),
        *np.linalg.slogdet(value),
        np.linalg.matrix_power(value, 3),
        np.linalg.tensorinv(value, 1),
    ]
    for result, wanted in zip(vm([x], expressions)(value), expected, strict=True):
        np.testing.assert_allclose(result, wanted)
