"""Linear algebra of named tensors: the dimensions that span the matrices are named, all others are a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import treadle.tensor as plain
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError
from treadle.named.types.named_type import Input, as_dims
from treadle.named.vectorization import apply_blockwise
from treadle.tensor import linalg as core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Op
    from treadle.named.variables import XTensorVariable
    from treadle.named.vectorization import CoresLike
    from treadle.tensor import TensorVariable


def _matrix_dims(what: str, dims: Sequence[str]) -> tuple[str, str]:
    names = as_dims(what, dims)
    if len(names) != 2:
        msg = f"{what}: two dimensions span the matrices, got {names}. Name two."
        raise DimsError(msg)
    return names[0], names[1]


def cholesky(x: object, lower: bool = True, *, check_finite: bool = True, dims: Sequence[str]) -> XTensorVariable:
    """Return the Cholesky factor of positive definite matrices.

    Parameters
    ----------
    x
        The matrices.
    lower
        Whether to return the lower factor.
    check_finite
        As for `treadle.tensor.linalg.cholesky`.
    dims
        The two dimensions of the matrices.

    Raises
    ------
    DimsError
        If there are not two, or `x` lacks one.
    """
    pair = _matrix_dims("cholesky", dims)
    result: XTensorVariable = apply_blockwise(
        plain.Cholesky(lower=lower, check_finite=check_finite), ((pair,), (pair,)), x, signature="(m,m)->(m,m)"
    )
    return result


def _systems(
    what: str, a: object, b: object, dims: Sequence[str]
) -> tuple[XTensorVariable, XTensorVariable, CoresLike, bool]:
    """Return the operands of a system, the core dimensions of inputs and outputs, and whether `b` is a vector.

    Rows of the matrices are along the dimension that they alone have, columns along the shared one.
    """
    a, b = as_xtensor(a), as_xtensor(b)
    names = as_dims(what, dims)
    if len(names) not in {2, 3}:
        msg = f"{what}: two dimensions are needed for a vector on the right, three for a matrix, got {names}."
        raise DimsError(msg)
    rows = [d for d in names if d in a.type.dims]
    shared = [d for d in rows if d in b.type.dims]
    others = [d for d in names if d not in a.type.dims and d in b.type.dims]
    if len(rows) != 2 or len(shared) != 1 or len(others) != len(names) - 2:
        msg = (
            f"{what}: of {names}, the matrices must have two, of which one is shared with the right-hand side, which "
            f"has the third. Got matrices of {a.type.dims} and a right-hand side of {b.type.dims}."
        )
        raise DimsError(msg)
    (joint,) = shared
    (free,) = [d for d in rows if d != joint]
    return a, b, (((free, joint), (joint, *others)), ((free, *others),)), not others


def solve(
    a: object, b: object, dims: Sequence[str], assume_a: str = "gen", lower: bool = False, check_finite: bool = True
) -> XTensorVariable:
    """Return the solutions x of a x = b.

    Parameters
    ----------
    a
        The matrices.
    b
        The right-hand sides: vectors or matrices.
    dims
        The two dimensions of `a`, of which `b` has one, and of a matrix on the right its other one, in any order. The
        shared one numbers the columns of `a` and the rows of `b`, the one that only `a` has its rows and those of the
        result: `x` is the inverse of `a`, of these rows and columns, times `b`.
    assume_a, lower, check_finite
        As for `treadle.tensor.linalg.solve`.

    Raises
    ------
    DimsError
        If the dimensions do not fit.
    """
    a, b, cores, is_vector = _systems("solve", a, b, dims)
    op = _solver(core.solve, a, b, assume_a=assume_a, lower=lower, check_finite=check_finite)
    return _solved(op, a, b, cores, is_vector)


def solve_triangular(
    a: object,
    b: object,
    dims: Sequence[str],
    lower: bool = False,
    unit_diagonal: bool = False,
    check_finite: bool = True,
) -> XTensorVariable:
    """Return the solutions of triangular systems (as `solve`)."""
    a, b, cores, is_vector = _systems("solve_triangular", a, b, dims)
    op = plain.SolveTriangular(lower=lower, unit_diagonal=unit_diagonal, check_finite=check_finite)
    return _solved(op, a, b, cores, is_vector)


def cho_solve(
    c: object, b: object, dims: Sequence[str], lower: bool = True, check_finite: bool = True
) -> XTensorVariable:
    """Return the solutions of systems whose matrices are given by their Cholesky factors (as `solve`)."""
    c, b, cores, is_vector = _systems("cho_solve", c, b, dims)
    return _solved(plain.CholeskySolve(lower=lower, check_finite=check_finite), c, b, cores, is_vector)


def _solver(function: Callable[..., TensorVariable], a: XTensorVariable, b: XTensorVariable, **how: Input) -> Op:
    """Return the op that a function of systems applies."""
    matrix = plain.TensorType(a.type.dtype, (None, None)).make_variable()
    right = plain.TensorType(b.type.dtype, (None, None)).make_variable()
    node: Input = function(matrix, right, b_ndim=2, **how).owner
    op: Op = node.op
    # For matrices stored in other ways there are other ops, which do not take these.
    return op if isinstance(op, plain.Solve) else plain.Solve(check_finite=how["check_finite"])


_COLUMN = "__column__"


def _solved(op: Op, a: XTensorVariable, b: XTensorVariable, cores: CoresLike, is_vector: bool) -> XTensorVariable:
    """Return the solutions; a vector on the right is a matrix of one column on the way."""
    if is_vector:
        b = b.expand_dims(_COLUMN)
        ((left, right), (out,)) = cores
        cores = ((left, (*right, _COLUMN)), ((*out, _COLUMN),))
    result: XTensorVariable = apply_blockwise(op, cores, a, b, signature="(m,m),(m,n)->(m,n)")
    return result.squeeze(_COLUMN) if is_vector else result


def inv(x: object, *, dims: Sequence[str]) -> XTensorVariable:
    """Return the inverses of square matrices; their dimensions are exchanged.

    Raises
    ------
    DimsError
        If there are not two dimensions, or `x` lacks one.
    """
    rows, columns = _matrix_dims("inv", dims)
    cores = (((rows, columns),), ((columns, rows),))
    result: XTensorVariable = apply_blockwise(plain.MatrixInverse(), cores, x, signature="(m,m)->(m,m)")
    return result


def det(x: object, *, dims: Sequence[str]) -> XTensorVariable:
    """Return the determinants of square matrices (errors as for `inv`)."""
    pair = _matrix_dims("det", dims)
    result: XTensorVariable = apply_blockwise(plain.Det(), ((pair,), ((),)), x, signature="(m,m)->()")
    return result


def slogdet(x: object, *, dims: Sequence[str]) -> tuple[XTensorVariable, XTensorVariable]:
    """Return the signs of determinants, and the logarithms of their absolute values (errors as for `inv`)."""
    pair = _matrix_dims("slogdet", dims)
    sign, size = apply_blockwise(plain.SLogDet(), ((pair,), ((), ())), x, signature="(m,m)->(),()", return_list=True)
    return sign, size


def expm(x: object, *, dims: Sequence[str]) -> XTensorVariable:
    """Return the exponentials of square matrices (errors as for `inv`)."""
    pair = _matrix_dims("expm", dims)
    result: XTensorVariable = apply_blockwise(plain.Expm(), ((pair,), (pair,)), x, signature="(n,n)->(n,n)")
    return result


def eigh(
    x: object, lower: bool = True, *, dims: Sequence[str], new_dim: str = "eigenvalue"
) -> tuple[XTensorVariable, XTensorVariable]:
    """Return eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Parameters
    ----------
    x
        The matrices.
    lower
        Which triangle is read.
    dims
        Their dimensions: the eigenvectors have the first.
    new_dim
        The dimension that numbers the eigenvalues, smallest first.

    Raises
    ------
    DimsError
        If there are not two dimensions, or `x` lacks one.
    """
    rows, columns = _matrix_dims("eigh", dims)
    cores = (((rows, columns),), ((new_dim,), (rows, new_dim)))
    values, vectors = apply_blockwise(plain.Eigh(lower=lower), cores, x, signature="(m,m)->(m),(m,m)", return_list=True)
    return values, vectors


__all__ = ["cho_solve", "cholesky", "det", "eigh", "expm", "inv", "slogdet", "solve", "solve_triangular"]
