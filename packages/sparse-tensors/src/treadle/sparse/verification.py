"""verify_grad_sparse: gradients of functions of sparse matrices against finite differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import treadle.tensor as tt
from treadle.sparse.forms.dense import DenseFromSparse, SparseFromDense
from treadle.sparse.forms.parts import CSM
from treadle.sparse.operands import Operand
from treadle.sparse.types.conversion import is_sparse, is_sparse_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["verify_grad_sparse"]


def _of_elements(matrix: Operand) -> Callable[[Operand], Operand]:
    """Return the function from elements to the matrix with these at the positions of another one's."""
    return lambda data: CSM(matrix.format)(data, matrix.indices, matrix.indptr, matrix.shape)


def verify_grad_sparse(
    fun: Callable[..., Operand], pt: Sequence[Operand], structured: bool = False, rng: Operand = None, **kwargs: Operand
) -> None:
    """Compare the gradient of a function of sparse and dense operands with finite differences.

    Parameters
    ----------
    fun
        The function, from variables to a sparse or dense result.
    pt
        Values of its operands: arrays, and sparse matrices of SciPy's.
    structured
        Whether sparse operands move at their stored elements alone. Otherwise all their elements do, so that the
        matrices are made sparse inside the function that is checked, for regular gradients.
    rng
        Generator of the random projection of the result; one with a fixed seed if None.
    **kwargs
        Passed on to `treadle.tensor.verify_grad`.

    Raises
    ------
    GradientError
        If they differ.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.verify_grad_sparse(lambda x: sparse.sqr(x), [A], structured=True)
    """
    values: list[Operand] = []
    makers: list[Callable[[Operand], Operand]] = []
    for value in pt:
        if not is_sparse(value):
            values.append(value)
            makers.append(lambda x: x)
        elif structured:
            values.append(value.data)
            makers.append(_of_elements(value))
        else:
            values.append(value.toarray())
            makers.append(SparseFromDense(value.format))

    def dense(*xs: Operand) -> Operand:
        result = fun(*(make(x) for make, x in zip(makers, xs, strict=True)))
        return DenseFromSparse(structured)(result) if is_sparse_variable(result) else result

    tt.verify_grad(dense, values, rng=rng, **kwargs)
