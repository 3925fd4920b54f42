"""Linear algebra by the array API standard's extension of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from treadle.tensor.array_api.public import tt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorLike, TensorVariable


def cholesky(x: TensorLike, /, *, upper: bool = False) -> TensorVariable:
    """Return the triangular factors of positive definite matrices."""
    factors: TensorVariable = tt.linalg.cholesky(x, upper=upper)
    return factors


def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> TensorVariable:
    """Return the cross products of vectors of three elements."""
    product: TensorVariable = tt.cross(x1, x2, axis=axis)
    return product


def det(x: TensorLike, /) -> TensorVariable:
    """Return the determinants of matrices."""
    result: TensorVariable = tt.linalg.det(x)
    return result


def diagonal(x: TensorLike, /, *, offset: int = 0) -> TensorVariable:
    """Return diagonals of matrices, the last two axes."""
    result: TensorVariable = tt.diagonal(x, offset, -2, -1)
    return result


def eigh(x: TensorLike, /) -> Any:
    """Return the eigenvalues and eigenvectors of Hermitian matrices, by name."""
    return tt.linalg.eigh(x)


def eigvalsh(x: TensorLike, /) -> TensorVariable:
    """Return the eigenvalues of Hermitian matrices."""
    values: TensorVariable = tt.linalg.eigvalsh(x)
    return values


def inv(x: TensorLike, /) -> TensorVariable:
    """Return the inverses of matrices."""
    inverses: TensorVariable = tt.linalg.inv(x)
    return inverses


def matmul(x1: TensorLike, x2: TensorLike, /) -> TensorVariable:
    """Return the product of matrices, vectors or stacks of matrices."""
    product: TensorVariable = tt.matmul(x1, x2)
    return product


def matrix_norm(
    x: TensorLike, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> TensorVariable:
    """Return norms of matrices."""
    norms: TensorVariable = tt.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)
    return norms


def matrix_power(x: TensorLike, n: int, /) -> TensorVariable:
    """Return powers of square matrices."""
    powers: TensorVariable = tt.linalg.matrix_power(x, n)
    return powers


def matrix_rank(x: TensorLike, /, *, rtol: TensorLike | None = None) -> TensorVariable:
    """Return the ranks of matrices."""
    ranks: TensorVariable = tt.linalg.matrix_rank(x, rtol=rtol)
    return ranks


def matrix_transpose(x: TensorLike, /) -> TensorVariable:
    """Return a tensor with its last two axes exchanged."""
    transposed: TensorVariable = tt.matrix_transpose(x)
    return transposed


def outer(x1: TensorLike, x2: TensorLike, /) -> TensorVariable:
    """Return the products of all pairs of elements of two vectors."""
    products: TensorVariable = tt.outer(x1, x2)
    return products


def pinv(x: TensorLike, /, *, rtol: TensorLike | None = None) -> TensorVariable:
    """Return the pseudoinverses of matrices."""
    inverses: TensorVariable = tt.linalg.pinv(x) if rtol is None else tt.linalg.pinv(x, rtol=rtol)
    return inverses


def qr(x: TensorLike, /, *, mode: Literal["reduced", "complete"] = "reduced") -> Any:
    """Return orthonormal and upper triangular factors of matrices, by name."""
    return tt.linalg.qr(x, mode)


def slogdet(x: TensorLike, /) -> Any:
    """Return the signs and logarithms of the determinants of matrices, by name."""
    return tt.linalg.slogdet(x)


def solve(x1: TensorLike, x2: TensorLike, /) -> TensorVariable:
    """Return the solutions of linear systems; `x2` is one vector, or a stack of matrices."""
    solutions: TensorVariable = tt.linalg.solve(x1, x2, b_ndim=1 if tt.as_tensor(x2).ndim == 1 else 2)
    return solutions


def svd(x: TensorLike, /, *, full_matrices: bool = True) -> Any:
    """Return the factors of the singular value decomposition of matrices, by name."""
    return tt.linalg.svd(x, full_matrices=full_matrices)


def svdvals(x: TensorLike, /) -> TensorVariable:
    """Return the singular values of matrices."""
    values: TensorVariable = tt.linalg.svdvals(x)
    return values


def tensordot(
    x1: TensorLike, x2: TensorLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> TensorVariable:
    """Return the sums of products over several axes."""
    sums: TensorVariable = tt.tensordot(x1, x2, axes=axes)
    return sums


def trace(x: TensorLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return the sums of diagonals of matrices, the last two axes."""
    sums: TensorVariable = tt.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)
    return sums


def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> TensorVariable:
    """Return the dot products of vectors along an axis; the first ones are conjugated."""
    products: TensorVariable = tt.vecdot(x1, x2, axis=axis)
    return products


def vector_norm(
    x: TensorLike,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> TensorVariable:
    """Return norms of vectors along axes."""
    norms: TensorVariable = tt.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    return norms


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
]  # fmt: skip
