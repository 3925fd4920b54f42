"""Comparisons of elements, as uint8: of sparse matrices with each other sparse ones, with dense ones dense tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import treadle.tensor as tt
from treadle.sparse.elementwise.arithmetic import combined_elements, operands
from treadle.sparse.errors import SparseShapeError
from treadle.sparse.forms.dense import SparseFromDense, as_dense
from treadle.sparse.operands import Operand
from treadle.sparse.selection.cleaning import remove0
from treadle.sparse.types.conversion import is_sparse_variable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["eq", "ge", "gt", "le", "lt", "neq"]


def _compared(name: str, x: Operand, y: Operand, of_zeros: bool) -> Operand:
    """Return a comparison of elements; `of_zeros` is what it gives for two zeros."""
    compare: Callable[[Operand, Operand], Operand] = getattr(tt, name)
    first, second = operands(name, x, y)
    sparse = is_sparse_variable(first) and is_sparse_variable(second)
    if sparse and not of_zeros:
        pattern, a, b = combined_elements(name, first, second)
        return remove0(pattern.with_data(compare(a, b).astype("uint8")).variable())
    if first.ndim != second.ndim:
        msg = f"{name}: two matrices of one shape are needed, got types {first.type} and {second.type}."
        raise SparseShapeError(msg)
    result = compare(as_dense(first), as_dense(second)).astype("uint8")
    return SparseFromDense(first.format)(result) if sparse else result


def eq(x: Operand, y: Operand) -> Operand:
    """Return where elements are equal. Of two sparse matrices most are: they are compared as dense ones.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.eq(A, A).eval().toarray()
    array([[1, 1],
           [1, 1]], dtype=uint8)
    """
    return _compared("eq", x, y, of_zeros=True)


def neq(x: Operand, y: Operand) -> Operand:
    """Return where elements differ.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.neq(A, A).eval().toarray()
    array([[0, 0],
           [0, 0]], dtype=uint8)
    """
    return _compared("neq", x, y, of_zeros=False)


def lt(x: Operand, y: Operand) -> Operand:
    """Return where elements of the first are less.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.lt(A, A).eval().toarray()
    array([[0, 0],
           [0, 0]], dtype=uint8)
    """
    return _compared("lt", x, y, of_zeros=False)


def gt(x: Operand, y: Operand) -> Operand:
    """Return where elements of the first are greater.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.gt(A, A).eval().toarray()
    array([[0, 0],
           [0, 0]], dtype=uint8)
    """
    return _compared("gt", x, y, of_zeros=False)


def le(x: Operand, y: Operand) -> Operand:
    """Return where elements of the first are less or equal. Two sparse matrices are compared as dense ones.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.le(A, A).eval().toarray()
    array([[1, 1],
           [1, 1]], dtype=uint8)
    """
    return _compared("le", x, y, of_zeros=True)


def ge(x: Operand, y: Operand) -> Operand:
    """Return where elements of the first are greater or equal. Two sparse matrices are compared as dense ones.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.ge(A, A).eval().toarray()
    array([[1, 1],
           [1, 1]], dtype=uint8)
    """
    return _compared("ge", x, y, of_zeros=True)
