"""Linear systems: assumptions about matrices, failures, edge cases, and errors of ill-conditioned ones."""

from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor.linalg import solve
from treadle.testing import verify_grad

vm = partial(function, mode="VM")
rng = np.random.default_rng(14)
MODES = ("VM", "C", "JAX", "PYTORCH")


KINDS = ("gen", "sym", "pos", "diagonal", "tridiagonal", "lower triangular")


def run(mode: str, *outs: Any) -> Any:
    with config.change_flags(torch__compile=False):
        return function([], list(outs), mode=mode)()


def test_right_sides_are_vectors_if_there_is_one_dimension_as_in_numpy() -> None:
    a, b = rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3))
    np.testing.assert_allclose(solve(a, b[0]).eval(), np.linalg.solve(a, b[0]))
    np.testing.assert_allclose(solve(a, b).eval(), np.linalg.solve(a, b))
    np.testing.assert_allclose(solve(a, b, b_ndim=1).eval(), np.linalg.solve(a, b[..., None])[..., 0])


def test_batches_broadcast_on_both_sides() -> None:
    a, b = rng.normal(size=(2, 1, 3, 3)), rng.normal(size=(4, 3, 2))
    np.testing.assert_allclose(solve(a, b).eval(), np.linalg.solve(a, b))
    np.testing.assert_allclose(solve(a[0, 0], b).eval(), np.linalg.solve(a[0, 0], b))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64"])
def test_dtypes_are_those_of_scipy(dtype: str) -> None:
    a = np.array([[2, 1], [0, 1]], dtype)
    x = solve(a, np.array([1, 1], dtype))
    expected = linalg.solve(a, np.array([1, 1], dtype))
    assert x.dtype == expected.dtype
    np.testing.assert_allclose(x.eval(), expected)


@pytest.mark.parametrize(
    "name",
    [
        None,
        "general",
        "symmetric",
        "hermitian",
        "positive definite",
        "diagonal",
        "tridiagonal",
        "banded",
        "upper triangular",
        "lower triangular",
    ],
)
@pytest.mark.parametrize("lower", [False, True])
def test_names_of_what_is_assumed_are_those_of_scipy(name: str | None, lower: bool) -> None:
    a = np.diag([4.0, 5.0, 6.0, 7.0])
    if name != "diagonal":
        a += np.diag(rng.normal(size=3), 1)
    if name in {"symmetric", "hermitian", "positive definite"}:
        a = a.T if lower else a
    if name == "lower triangular":
        a = a.T
    b = rng.normal(size=(4, 2))
    expected = linalg.solve(a, b, assume_a=name, lower=lower, transposed=True)
    np.testing.assert_allclose(solve(a, b, assume_a=name, lower=lower, transposed=True).eval(), expected, rtol=1e-12)


def test_what_is_assumed_to_be_known_is_not_read() -> None:
    a = np.array([[2.0, 1.0, np.nan], [1.0, 3.0, 1.0], [np.nan, 1.0, 4.0]])
    np.testing.assert_allclose(solve(a, np.ones(3), assume_a="tridiagonal").eval() @ np.nan_to_num(a), np.ones(3))
    np.testing.assert_allclose(solve(a, np.ones(3), assume_a="diagonal").eval(), [1 / 2, 1 / 3, 1 / 4])
    upper = np.where(np.tri(3, k=-1) > 0, np.nan, np.nan_to_num(a))
    for kind in ("sym", "her", "pos"):
        np.testing.assert_allclose(solve(upper, np.ones(3), assume_a=kind).eval() @ np.nan_to_num(a), np.ones(3))


def test_transposed_complex_systems_are_not_conjugated() -> None:
    a = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    b = rng.normal(size=3)
    np.testing.assert_allclose(solve(a, b, transposed=True).eval(), np.linalg.solve(a.T, b))
    positive = a @ a.conj().T + np.eye(3)
    for kind in ("her", "pos"):
        x = solve(positive, b, transposed=True, assume_a=kind).eval()
        np.testing.assert_allclose(x, np.linalg.solve(positive.T, b))


@pytest.mark.parametrize("mode", MODES)
def test_matrices_without_a_solution_have_nan_beside_others(mode: str) -> None:
    a = np.stack([np.diag([2.0, 3.0, 4.0])] * 4)
    a[1, 1, 1] = 0
    a[2, 2, 2] = np.nan
    b = rng.normal(size=(3, 2))
    for x in run(mode, *(solve(a, b, assume_a=kind) for kind in KINDS)):
        for i in (0, 3):
            np.testing.assert_allclose(x[i], b / a[i].diagonal()[:, None])
        assert np.isnan(x[1:3]).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["gen", "diagonal"])
def test_an_error_names_the_matrix_and_the_line_if_wanted(mode: str, kind: str) -> None:
    a = np.stack([np.eye(3), np.zeros((3, 3))])
    with config.change_flags(torch__compile=False):
        f = function([], solve(a, np.ones((3, 1)), assume_a=kind, on_error="raise"), mode=mode)
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix \[1\] of the batch: .*built at .*test_solve\.py"):
        f()


def test_finiteness_is_checked_unless_that_is_switched_off() -> None:
    a = np.diag([1.0, np.inf])
    assert np.isnan(solve(a, np.ones(2)).eval()).all()
    np.testing.assert_array_equal(solve(a, np.ones(2), check_finite=False).eval(), [1, 0])
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinities"):
        vm([], solve(np.eye(2), np.array([1, np.nan]), on_error="raise"))()


@pytest.mark.parametrize("mode", MODES)
def test_systems_without_elements_have_solutions_without_elements(mode: str) -> None:
    cases = [
        (np.ones((0, 0)), np.ones(0), (0,)),
        (np.ones((2, 0, 0)), np.ones((0, 3)), (2, 0, 3)),
        (np.ones((0, 2, 2)), np.ones((2, 3)), (0, 2, 3)),
        (np.eye(2), np.ones((2, 0)), (2, 0)),
        (np.array([[4.0]]), np.array([2.0]), (1,)),
    ]
    kinds = ("gen", "sym", "pos", "tridiagonal")
    solutions = run(mode, *(solve(a, b, assume_a=kind) for kind in kinds for a, b, _ in cases))
    assert [x.shape for x in solutions] == [shape for _, _, shape in cases] * len(kinds)
    assert solutions[-1] == [0.5]


def test_wrong_arguments_are_refused_by_name() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="must be square, got 2 rows and 3 columns"):
        solve(np.ones((2, 3)), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="a matrix or a stack of such is needed"):
        solve(np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="a matrix with 2 rows needs a right side of that length, got 3"):
        solve(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match=r"solve: assume_a must be one of .*got 'skew'"):
        solve(np.eye(2), np.ones(2), assume_a="skew")
    with pytest.raises(ValueError, match="solve: on_error must be one of nan, raise, got 'warn'"):
        solve(np.eye(2), np.ones(2), on_error="warn")
    with pytest.raises(ValueError, match="b_ndim must be one of None, 1, 2"):
        solve(np.eye(2), np.ones(2), b_ndim=3)
    x = tt.dmatrix()
    f = vm([x], solve(x, np.ones(2)))
    with pytest.raises(ValueError, match="the lengths m of"):
        f(np.ones((2, 3)))


def test_gradients_by_a_triangle_leave_the_other_alone() -> None:
    a = rng.normal(size=(3, 3)) + 4 * np.eye(3)
    for kind in ("sym", "pos"):
        x = tt.dmatrix()
        slope = vm([x], tt.grad(solve(x, np.arange(3.0), assume_a=kind, lower=True).sum(), x))(a)
        assert not np.triu(slope, 1).any()
        verify_grad(lambda x, kind=kind: solve(x, np.arange(3.0), assume_a=kind), [a], rng=rng)


def test_a_gradient_of_a_broadcast_matrix_is_summed() -> None:
    a, b = rng.normal(size=(3, 3)), rng.normal(size=(2, 3, 1))
    verify_grad(solve, [a, b], rng=rng)


def graded(n: int) -> np.ndarray:
    """Return a matrix whose rows and columns differ by orders of magnitude."""
    scale = 10.0 ** -np.arange(n)
    return scale[:, None] * (np.eye(n) + 0.1) * scale


@pytest.mark.parametrize("mode", MODES)
def test_errors_of_ill_conditioned_systems_stay_within_their_condition(mode: str) -> None:
    near = np.ones((4, 4)) + 1e-9 * np.diag([1.0, 2.0, 3.0, 4.0])
    cases = [(a, kind) for a in (linalg.hilbert(6), graded(5), near) for kind in ("gen", "sym", "pos")]
    solutions = run(mode, *(solve(a, np.arange(1.0, len(a) + 1), assume_a=kind) for a, kind in cases))
    for (a, _), x in zip(cases, solutions, strict=True):
        with mpmath.workdps(60):
            right = mpmath.matrix(list(range(1, len(a) + 1)))
            exact = np.array(mpmath.lu_solve(mpmath.matrix(a.tolist()), right).tolist(), float)[:, 0]
        unit = np.linalg.cond(a) * np.finfo(float).eps
        assert np.linalg.norm(x - exact) <= 4 * unit * np.linalg.norm(exact)


def test_numpys_function_builds_a_solution() -> None:
    x: Any = tt.dmatrix()
    value = rng.normal(size=(2, 2))
    np.testing.assert_allclose(vm([x], np.linalg.solve(x, np.ones(2)))(value), np.linalg.solve(value, np.ones(2)))
