"""Stacks of matrices in compiled code: memory layouts, failures, sizes, threads."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_numba.conftest import Link
from treadle.tensor import MatrixError, TensorType

RNG = np.random.default_rng(8)


def stacks(count: int, batch_ndim: int = 1, dtype: str = "float64") -> list[Any]:
    """Return symbolic stacks of matrices of any lengths."""
    return [TensorType(dtype, (None,) * (batch_ndim + 2))(f"x{k}") for k in range(count)]


def positive_definite(*shape: int) -> Any:
    x = RNG.normal(size=shape)
    return x @ x.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])


@pytest.fixture
def solve(link: Link) -> Any:
    """Return a program of a Cholesky factor, a triangular solution, a general solution and an inverse."""
    a, b = stacks(2)
    return link([a, b], [tt.Cholesky()(a), tt.SolveTriangular()(a, b), tt.Solve()(a, b), tt.MatrixInverse()(a)])


def expected(a: Any, b: Any) -> list[Any]:
    return [np.linalg.cholesky(a), np.linalg.solve(np.triu(a), b), np.linalg.solve(a, b), np.linalg.inv(a)]


@pytest.mark.parametrize("n", [1, 4, 21])
def test_loops_and_lapack_agree_with_numpy_however_matrices_lie_in_memory(solve: Any, n: int) -> None:
    a, b = positive_definite(3, n, n), RNG.normal(size=(3, n, 2))
    wide = np.zeros((3, 2 * n, 3 * n))
    wide[:, ::2, ::3] = a
    for left in (a, a.swapaxes(1, 2), np.asfortranarray(a), a[::-1, ::-1, ::-1], wide[:, ::2, ::3]):
        for right in (b, b[:1], np.asfortranarray(b)):
            for result, wanted in zip(solve(left, right), expected(left, right), strict=True):
                np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-12)


def test_empty_matrices_and_stacks_have_empty_results(solve: Any) -> None:
    for batch, n, k in ((2, 0, 3), (0, 3, 1), (2, 3, 0)):
        a = np.broadcast_to(np.eye(n), (batch, n, n))
        shapes = [x.shape for x in solve(a, np.ones((1, n, k)))]
        assert shapes == [(batch, n, n), (batch, n, k), (batch, n, k), (batch, n, n)]


@pytest.mark.parametrize("n", [3, 20])
def test_a_matrix_without_a_result_becomes_nan_and_the_others_are_right(solve: Any, n: int) -> None:
    a, b = positive_definite(3, n, n), RNG.normal(size=(1, n, 1))
    wanted = expected(a, b)
    for bad in (np.zeros((n, n)), np.full((n, n), np.nan), np.full((n, n), np.inf)):
        a[1] = bad
        for result, right in zip(solve(a, b), wanted, strict=True):
            assert np.isnan(result[1]).all()
            np.testing.assert_allclose(result[[0, 2]], right[[0, 2]], rtol=1e-9)


def test_an_error_names_the_op_and_the_place_in_the_batch(link: Link) -> None:
    (a,) = stacks(1)
    run = link([a], [tt.Cholesky(on_error="raise")(a)])
    good = positive_definite(3, 2, 2)
    np.testing.assert_allclose(run(good)[0], np.linalg.cholesky(good))
    good[2] = -1
    with pytest.raises(MatrixError, match=r"matrix \[2\] of the batch: the matrix is not positive definite") as caught:
        run(good)
    assert "Cholesky" in str(caught.value)


def test_determinants_beyond_the_range_of_a_part_of_the_product(link: Link) -> None:
    (a,) = stacks(1)
    run = link([a], [tt.Det()(a), *tt.SLogDet()(a)])
    x = np.stack([np.diag([1e200, 1e200, 1e-200, 1e-200]), np.diag([1e-200, -1e-200, 1e200, 1e200]), np.zeros((4, 4))])
    det, sign, logarithm = run(x)
    np.testing.assert_allclose(det, [1, -1, 0])
    np.testing.assert_array_equal(sign, [1, -1, 0])
    np.testing.assert_allclose(logarithm, [0, 0, -np.inf], atol=1e-12)


def test_threads_share_a_program(solve: Any) -> None:
    systems = [(positive_definite(20, n, n), RNG.normal(size=(20, n, 1))) for n in (2, 5, 18, 30)]

    def right(pair: tuple[Any, Any]) -> bool:
        return all(np.allclose(x, y) for x, y in zip(solve(*pair), expected(*pair), strict=True))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(right, systems * 5))


def test_kernels_of_complex_matrices_are_compiled_together(link: Link) -> None:
    a, b = stacks(2, 0, "complex128")
    program = link([a, b], [*tt.LUFactor()(a), *tt.QR("full", pivoting=True)(a), tt.Expm()(a), tt.Sylvester()(a, a, b)])
    x = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
    *_, solution = program(x, x)
    np.testing.assert_allclose(x @ solution + solution @ x, x)
