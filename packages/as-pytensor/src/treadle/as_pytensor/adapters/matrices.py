"""Functions of matrices whose results PyTensor has in another form."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from treadle.tensor import as_tensor_variable, linalg, shape_padright

if TYPE_CHECKING:
    from treadle.tensor import TensorLike, TensorVariable


def norm(
    x: TensorLike,
    ord: float | str | None = None,  # noqa: A002 - the name in NumPy
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> TensorVariable:
    """Return the norms of vectors or matrices (as numpy.linalg.norm, but for stacks).

    Without `axis`, a tensor of more than two dimensions is a stack of matrices, and two axes count from the first of
    the last two dimensions.
    """
    var = as_tensor_variable(x)
    batch = max(var.ndim - 2, 0)
    if axis is None and batch:
        axis = (0, 1)
    if isinstance(axis, tuple) and len(axis) == 2 and batch:
        # Two axes are those of one matrix of the stack.
        axis = tuple(batch + a if 0 <= a < 2 else a for a in axis)
    # Of the whole vector or matrix, the dimensions are kept afterwards.
    is_whole = axis is None and keepdims
    norms: TensorVariable = linalg.norm(var, ord, axis, keepdims and not is_whole)  # type: ignore[attr-defined]  # found by name
    return shape_padright(norms, var.ndim) if is_whole else norms


@wraps(linalg.svd)
def svd(*args: Any, **kwargs: Any) -> list[TensorVariable] | TensorVariable:
    """Return the singular value decomposition as a list, or the singular values."""
    result: tuple[TensorVariable, ...] | TensorVariable = linalg.svd(*args, **kwargs)
    return list(result) if isinstance(result, tuple) else result


@wraps(linalg.schur)
def schur(*args: Any, **kwargs: Any) -> list[TensorVariable]:
    """Return the Schur form and the vectors, as a list: how many eigenvalues were sorted to the front is left out."""
    return list(linalg.schur(*args, **kwargs)[:2])


@wraps(linalg.qr)
def qr(*args: Any, **kwargs: Any) -> list[TensorVariable] | TensorVariable:
    """Return the factors as a list; those of mode ``raw`` one by one."""
    result: tuple[TensorVariable | tuple[TensorVariable, ...], ...] | TensorVariable
    result = linalg.qr(*args, **kwargs)
    if not isinstance(result, tuple):
        return result
    return [var for part in result for var in (part if isinstance(part, tuple) else (part,))]
