"""Ops on stacks of matrices in C, by kernels that say what happens to one matrix, or to eight small ones at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import Number, Pointer, int32, lapack
from treadle.link.c import lapack_pointer
from treadle.link.c.errors import BackendUnavailableError, ExportError
from treadle.tensor import MatrixError, MatrixOp
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from treadle.tensor import TensorNode

    Link = Callable[[Sequence[Any], Sequence[Any]], Any]


@dataclass(frozen=True)
class Factor(MatrixOp):
    """Cholesky factors, of lower triangles."""

    on_error: str = "nan"
    check_finite: bool = True
    signature = "(m,m)->(m,m)"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.linalg.cholesky(matrices[0]),)


@dataclass(frozen=True)
class Spectrum(MatrixOp):
    """Eigenvalues and eigenvectors of symmetric matrices."""

    signature = "(m,m)->(m),(m,m)"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(np.linalg.eigh(matrices[0]))


T = TypeVar("T", bound=Number)


@kernel(inline=True)
def factor_of_matrix(m: int, a: Pointer[T], ld_a: int) -> int:
    return lapack.potrf("U", m, a, ld_a)  # type: ignore[no-any-return]  # routines have no types


@kernel(inline=True)
def spectrum_of_matrix(
    m: int, w: Pointer[T], v: Pointer[T], ld_v: int, work: Pointer[T], n_work: int, iwork: Pointer[int32], n_iwork: int
) -> int:
    return lapack.syevd("V", "L", m, v, ld_v, w, work, n_work, iwork, n_iwork)  # type: ignore[no-any-return]


@TABLE.register(Factor)
def _factor(op: Factor, node: TensorNode, site: Site) -> None:
    Stack(op, node, site, {"x": Operand(into="a", half="lower")}, {"a": "rows"}).run(factor_of_matrix)


@TABLE.register(Spectrum)
def _spectrum(op: Spectrum, node: TensorNode, site: Site) -> None:
    stack = Stack(op, node, site, {"a": Operand("columns", into="v")}, {"w": "rows", "v": "columns"})
    stack.run(spectrum_of_matrix, {"work": ("T", None), "iwork": ("int32", None)})


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _positive(rng: np.random.Generator, *shape: int, dtype: str = "float64") -> np.ndarray:
    a = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.startswith("complex") else 0)
    return (a @ np.conj(np.swapaxes(a, -1, -2)) + shape[-1] * np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_each_matrix_is_computed_however_it_lies_in_memory(link: Link, rng: np.random.Generator, dtype: str) -> None:
    tolerance = 1e-4 if dtype in {"float32", "complex64"} else 1e-12
    x = tt.tensor("x", dtype=dtype, shape=(None, None, None))
    program = link([x], [Factor()(x)])
    a = _positive(rng, 3, 5, 5, dtype=dtype)
    wide = np.zeros((3, 7, 10), dtype)
    wide[:, 1:6, ::2] = a
    across = np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -1, -2)), -1, -2)
    for stack in (a, across, wide[:, 1:6, ::2], np.broadcast_to(a[:1], (3, 5, 5)), a[::-1]):
        np.testing.assert_allclose(program(stack)[0], np.linalg.cholesky(stack), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(0, 0, 0), (2, 0, 0), (0, 3, 3), (1, 1, 1)])
def test_matrices_and_stacks_may_be_empty(link: Link, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x = tt.dtensor3("x")
    a = _positive(rng, *shape)
    (factor,) = link([x], [Factor()(x)])(a)
    np.testing.assert_allclose(factor, np.linalg.cholesky(a))
    values, vectors = link([x], Spectrum()(x))(a)
    assert values.shape == shape[:2]
    assert vectors.shape == shape


def test_results_by_columns_are_turned(link: Link, rng: np.random.Generator) -> None:
    x = tt.dtensor3("x")
    a = _positive(rng, 2, 37, 37)
    values, vectors = link([x], Spectrum()(x))(a)
    np.testing.assert_allclose(a @ vectors, vectors * values[:, None, :], rtol=1e-9, atol=1e-9)


def test_matrix_without_a_result_becomes_nan_alone(link: Link, rng: np.random.Generator) -> None:
    x = tt.dtensor3("x")
    a = _positive(rng, 4, 5, 5)
    a[1] *= -1
    a[2, 4, 0] = np.inf
    a[3, 0, 4] = np.inf  # not in the triangle that is read
    for stack in (a, np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2)):
        (factors,) = link([x], [Factor()(x)])(stack)
        assert np.isnan(factors).all(axis=(1, 2)).tolist() == [False, True, True, False]
        np.testing.assert_allclose(factors[[0, 3]], np.linalg.cholesky(a[[0, 3]]))


def test_error_names_the_matrix(link: Link, rng: np.random.Generator) -> None:
    x = tt.dtensor3("x")
    a = _positive(rng, 4, 5, 5)
    a[2] *= -1
    with pytest.raises(MatrixError, match=r"matrix \[2\] of the batch.*built at .*test_matrices"):
        link([x], [Factor("raise")(x)])(a)


def test_block_of_a_dying_operand_is_overwritten(link: Link, rng: np.random.Generator) -> None:
    x = tt.dtensor3("x")
    a = _positive(rng, 3, 8, 8)
    (result,), counts = link([x], [tt.exp(Factor()(x * 2.0))]).counted(a)
    np.testing.assert_allclose(result, np.exp(np.linalg.cholesky(a * 2)))
    assert (counts.made, counts.overwritten) == (1, 2)
    (result, kept), counts = link([x], [Factor()(tt.exp(x)), tt.exp(x)]).counted(a * 0.01)
    np.testing.assert_allclose(result, np.linalg.cholesky(np.exp(a * 0.01)))
    np.testing.assert_allclose(kept, np.exp(a * 0.01))


def test_memory_to_work_with_is_made_once_for_a_stack(link: Link, rng: np.random.Generator) -> None:
    x = tt.dtensor3("x")
    program = link([x], Spectrum()(x))
    _, one = program.counted(_positive(rng, 1, 30, 30))
    _, many = program.counted(_positive(rng, 20, 30, 30))
    assert many.made == one.made


def _of_lower(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.solve(np.tril(a), b)


SMALL: dict[str, tuple[MatrixOp, Callable[..., Any], int]] = {
    "lower factor": (tt.Cholesky(), np.linalg.cholesky, 1),
    "upper factor": (tt.Cholesky(lower=False), partial(np.linalg.cholesky, upper=True), 1),
    "triangular": (tt.SolveTriangular(lower=True), _of_lower, 2),
    "solve": (tt.Solve(), np.linalg.solve, 2),
    "positive": (tt.Solve(assume_a="pos"), np.linalg.solve, 2),
    "inverse": (tt.MatrixInverse(), np.linalg.inv, 1),
    "determinant": (tt.Det(), np.linalg.det, 1),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_matrices_are_computed_as_large_ones(link: Link, rng: np.random.Generator, name: str) -> None:
    op, oracle, takes = SMALL[name]
    operands = [tt.dtensor3("x"), tt.dtensor3("b")][:takes]
    program = link(operands, [op(*operands)])
    # One, less than eight, eight, and more than those; to both sides of what counts as small.
    for count, n in ((1, 4), (3, 3), (8, 1), (9, 7), (17, 24), (2, 25)):
        left, right = _positive(rng, count, n, n), rng.normal(size=(count, n, 2))
        across = np.swapaxes(np.swapaxes(left, -1, -2).copy(), -1, -2)
        for values in ([left, right], [across, right]):
            result, expected = program(*values[:takes])[0], oracle(*values[:takes])
            np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-12)


def test_small_matrix_without_a_result_becomes_nan_alone(link: Link, rng: np.random.Generator) -> None:
    x, b = tt.dtensor3("x"), tt.dtensor3("b")
    a, right = _positive(rng, 19, 3, 3), rng.normal(size=(19, 3, 1))
    a[2], a[17, 0, 1], right[9, 2] = 0, np.nan, np.inf
    solution, inverse = link([x, b], [tt.Solve()(x, b), tt.MatrixInverse()(x)])(a, right)
    assert np.flatnonzero(np.isnan(solution).any(axis=(1, 2))).tolist() == [2, 9, 17]
    assert np.flatnonzero(np.isnan(inverse).all(axis=(1, 2))).tolist() == [2, 17]
    with pytest.raises(MatrixError, match=r"matrix \[2\] of the batch"):
        link([x, b], [tt.Solve(on_error="raise")(x, b)])(a, right)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eigenvalues_of_small_matrices_are_as_accurate_as_lapack(
    link: Link, rng: np.random.Generator, dtype: str
) -> None:
    x = tt.tensor("x", dtype=dtype, shape=(None, None, None))
    program = link([x], [*tt.Eigh()(x), tt.Eigvalsh(lower=False)(x)])
    for n in (1, 2, 3, 8):
        a = rng.normal(size=(45, n, n)) * 10.0 ** rng.integers(-8, 8, size=(45, 1, 1))
        a[0], a[1] = 0, np.eye(n)
        a[2] = np.ones((n, n))
        a = (a + np.swapaxes(a, -1, -2)).astype(dtype)
        values, vectors, alone = program(a)
        unit = np.finfo(dtype).eps * np.abs(np.linalg.eigvalsh(a.astype("float64"))).max(axis=1)[:, None, None]
        wide = vectors.astype("float64")
        assert (np.abs(a @ wide - wide * values[:, None, :]) <= 10 * unit).all()
        assert (np.abs(np.swapaxes(wide, -1, -2) @ wide - np.eye(n)) <= 10 * np.finfo(dtype).eps).all()
        assert (np.abs(alone - np.linalg.eigvalsh(a.astype("float64"))) <= 10 * unit[..., 0]).all()
        assert (np.diff(values) >= 0).all()
    a[5, 7, 0], a[6, 0, 7] = np.nan, np.nan  # of the latter, only the triangle that eigvalsh reads
    values, vectors, alone = program(a)
    assert np.flatnonzero(np.isnan(vectors).any(axis=(1, 2))).tolist() == [5]
    assert np.flatnonzero(np.isnan(alone).any(axis=1)).tolist() == [6]


def test_rows_change_places_as_in_partial_pivoting(link: Link) -> None:
    x = tt.dtensor3("x")
    a = np.array([[[0.0, 1, 0], [0, 0, 1], [1, 0, 0]], [[1e-20, 1, 0], [1, 1, 0], [0, 0, -2]], np.zeros((3, 3))])
    det, sign, logarithm = link([x], [tt.Det()(x), *tt.SLogDet()(x)])(a)
    np.testing.assert_allclose(det, [1, 2, 0], rtol=1e-15)
    assert sign.tolist() == [1, 1, 0]
    np.testing.assert_allclose(logarithm, [0, np.log(2), -np.inf], atol=1e-15)


def test_matrix_that_is_singular_to_numpy_is_singular(link: Link) -> None:
    x = tt.dtensor3("x")
    program = link([x], [tt.MatrixInverse()(x), tt.Solve()(x, x), tt.Det()(x)])
    a = np.arange(1.0, 10.0).reshape(1, 3, 3)
    for count in (1, 8):
        inverse, solution, det = program(np.repeat(a, count, axis=0))
        assert np.isnan(inverse).all()
        assert np.isnan(solution).all()
        assert not det.any()


def test_right_sides_are_broadcast(link: Link, rng: np.random.Generator) -> None:
    x, b = tt.dtensor4("x"), tt.dtensor4("b")
    a, right = _positive(rng, 5, 1, 3, 3), rng.normal(size=(1, 4, 3, 2))
    for op in (tt.Solve(), tt.Solve(assume_a="pos")):
        np.testing.assert_allclose(link([x, b], [op(x, b)])(a, right)[0], np.linalg.solve(a, right))


def test_program_without_python_lacks_lapack(tmp_path: Path) -> None:
    x = tt.dmatrix("x")
    with pytest.raises(ExportError, match=r"Cholesky.*scipy\.linalg\.cython_lapack\.dpotrf"):
        function([x], tt.Cholesky()(x), mode="C").export(tmp_path)


def test_routine_with_other_parameters_is_refused() -> None:
    with pytest.raises(BackendUnavailableError, match="has the C type"):
        lapack_pointer("potrf", "cixi", "float64").address()


def test_threads_do_not_share_memory(link: Link, rng: np.random.Generator) -> None:
    x = tt.dtensor3("x")
    program = link([x], [Factor()(x)])
    stacks = [_positive(rng, 20, 30, 30) for _ in range(8)]
    with ThreadPoolExecutor(4) as pool:
        factors = list(pool.map(lambda a: program(a)[0], stacks))
    for a, factor in zip(stacks, factors, strict=True):
        np.testing.assert_allclose(factor, np.linalg.cholesky(a))
