"""Sparse matrices without stored zeros, and with sorted positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import treadle.tensor as tt
from treadle.sparse.forms.parts import compressed
from treadle.sparse.operands import Operand
from treadle.sparse.selection.indexing import keep_entries

if TYPE_CHECKING:
    from treadle.sparse.types.variable import SparseVariable

__all__ = ["clean", "ensure_sorted_indices", "remove0"]


def remove0(x: Operand) -> SparseVariable:
    """Return a sparse matrix without the zeros that it stores.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.remove0(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """
    arrays = compressed(x)
    return keep_entries(arrays, tt.neq(arrays.data, 0)).variable()


def ensure_sorted_indices(x: Operand) -> SparseVariable:
    """Return a sparse matrix with the positions of each row (CSR) or column (CSC) sorted.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.ensure_sorted_indices(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """
    arrays = compressed(x)
    # Entries come sorted out of a change of format, in linear time.
    other = "csc" if arrays.format == "csr" else "csr"
    return arrays.in_format(other).in_format(arrays.format).variable()


def clean(x: Operand) -> SparseVariable:
    """Return a sparse matrix without stored zeros and with sorted positions.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.clean(A).eval().toarray()
    array([[0., 4.],
           [9., 0.]])
    """
    return ensure_sorted_indices(remove0(x))
