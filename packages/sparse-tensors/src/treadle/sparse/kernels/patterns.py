"""Entries of one matrix read at the positions of another; patterns of transposes, sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

import treadle.tensor as tt
from treadle.graph import static_op
from treadle.sparse.errors import SparseShapeError
from treadle.sparse.kernels.lines import Densified, line_of_entry
from treadle.sparse.kernels.structure import (
    INDEX,
    Kernel,
    as_variables,
    check_structure,
    matrix_of,
    pattern_of,
)
from treadle.sparse.operands import Operand
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Cell, Type, Value, Variable

    Variables = Sequence[Variable]
    Terms = Sequence[Variable | None]

__all__ = ["CombinedPattern", "ProductPattern", "Sampled", "SampledSparseProduct", "TransposedPattern"]


def _same_lines(what: str, first: np.ndarray, second: np.ndarray) -> None:
    if len(first) != len(second):
        msg = (
            f"{what}: two matrices of one shape are needed, got one with {len(first) - 1} lines and one with "
            f"{len(second) - 1}. Check their shapes."
        )
        raise SparseShapeError(msg)


def _at(matrix: Operand, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return the elements of a matrix of SciPy at the positions of a pattern."""
    lines = np.repeat(np.arange(len(indptr) - 1, dtype=INDEX), np.diff(indptr))
    # SciPy refuses to index matrices without elements.
    return np.asarray(matrix[lines, indices]).ravel() if len(lines) else np.zeros(0, matrix.dtype)


@static_op
class Sampled(Kernel):
    """The elements of a matrix at the positions of a pattern, from ``(data, indices, indptr, at, pointers, across)``.

    `at` and `pointers` describe the pattern, which has as many lines. Elements that the matrix does not store are 0.
    """

    smooth = (0,)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a vector with a number for each entry of the pattern."""
        data, indices, indptr, at, pointers, across = types
        dtype = self.numbers("elements", (1,), data)
        for kind, what in ((indices, "indices"), (indptr, "indptr"), (pointers, "pointers")):
            self.vector(kind, what)
        self.length(across)
        return [TensorType(dtype, self.vector(at, "at").shape)]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Look the positions up with SciPy."""
        data, indices, indptr, at, pointers, across = inputs
        _same_lines("Sampled", indptr, pointers)
        check_structure("Sampled", at, pointers, int(across))
        matrix = matrix_of("Sampled", data, indices, indptr, int(across))
        output_storage[0][0] = _at(matrix, at, pointers)

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the number of positions."""
        return [shapes[3]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Read the matrix of the cotangents at the positions of this one: the roles change."""
        _, indices, indptr, at, pointers, across = as_variables(inputs)
        return [Sampled()(cotangents[0], at, pointers, indices, indptr, across), *[None] * 5]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Make the matrix dense and index it."""
        data, indices, indptr, at, pointers, across = as_variables(inputs)
        dense = Densified()(data, indices, indptr, across)
        return [dense[line_of_entry(at, pointers), at]]


class _Pattern(Kernel):
    """An op that finds positions and pointers, sorted and each once."""

    def outputs(self, pointers: int | None) -> Sequence[Type]:
        """Return the types of positions and pointers."""
        return [TensorType(INDEX, (None,)), TensorType(INDEX, (pointers,))]


@static_op
class CombinedPattern(_Pattern):
    """The positions that one of two patterns has, or both, from ``(indices, indptr, at, pointers, across)``.

    Parameters
    ----------
    both
        Whether both patterns must have a position: those of products of elements, not of sums.
    """

    both: bool

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return two vectors: positions and pointers."""
        *vectors, across = types
        kinds = [self.vector(k, what) for k, what in zip(vectors, ("indices", "indptr", "at", "pointers"), strict=True)]
        self.length(across)
        return self.outputs(kinds[1].shape[0])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Combine matrices of ones with SciPy."""
        indices, indptr, at, pointers, across = inputs
        _same_lines("CombinedPattern", indptr, pointers)
        first = pattern_of("CombinedPattern", indices, indptr, int(across))
        second = pattern_of("CombinedPattern", at, pointers, int(across))
        found = first.multiply(second).tocsr() if self.both else first + second
        found.sort_indices()
        output_storage[0][0] = found.indices.astype(INDEX)
        output_storage[1][0] = found.indptr.astype(INDEX)

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return that there is a pointer for each line and one more; the number of positions is not known."""
        return [None, shapes[1]]


@static_op
class TransposedPattern(Kernel):
    """The pattern of the transpose, from ``(indices, indptr, across)``: positions, pointers, and the order of entries.

    ``data[order]`` are the transpose's entries. Those of each line are in the order of the lines that they come from.
    """

    static_inputs = (2,)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return three vectors."""
        indices, indptr, across = types
        self.vector(indptr, "indptr")
        self.length(across)
        entries = self.vector(indices, "indices").shape
        return [TensorType(INDEX, entries), TensorType(INDEX, (None,)), TensorType(INDEX, entries)]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Sort the entries by position."""
        indices, indptr, across = inputs
        check_structure("TransposedPattern", indices, indptr, int(across))
        lines = np.repeat(np.arange(len(indptr) - 1, dtype=INDEX), np.diff(indptr))
        order = np.argsort(indices, kind="stable").astype(INDEX)
        counts = np.bincount(indices, minlength=int(across))
        output_storage[0][0] = lines[order]
        output_storage[1][0] = np.concatenate([[0], np.cumsum(counts)]).astype(INDEX)
        output_storage[2][0] = order

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the numbers of entries and pointers."""
        across: Operand = node.inputs[2]
        return [shapes[0], (across + 1,), shapes[0]]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Sort the entries by position, and search for the first of each position."""
        indices, indptr, across = as_variables(inputs)
        order = tt.argsort(indices, kind="stable")
        starts = tt.arange(across + 1, dtype=INDEX)
        pointers = tt.searchsorted(indices[order], starts, side="left")
        lines = line_of_entry(indices, indptr)[order]
        return [lines, pointers.astype(INDEX), order.astype(INDEX)]


@static_op
class ProductPattern(_Pattern):
    """The pattern of a product of two compressed matrices, from ``(indices, indptr, at, pointers, across)``.

    The lines of the second are those positions across the first; `across` are the positions across the result. A line
    of the result has each position once that a term of the product reaches, in ascending order: what SciPy's product
    stores after ``sort_indices``, and also the sums of terms that happen to be 0, which SciPy's drops.
    """

    # Its result is as long as its values say, which backends that trace cannot express.
    may_run_on_host: ClassVar[bool] = True

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return two vectors: positions and pointers."""
        *vectors, across = types
        kinds = [self.vector(k, what) for k, what in zip(vectors, ("indices", "indptr", "at", "pointers"), strict=True)]
        self.length(across)
        return self.outputs(kinds[1].shape[0])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Multiply matrices of ones with SciPy."""
        indices, indptr, at, pointers, across = inputs
        first = pattern_of("ProductPattern", indices, indptr, len(pointers) - 1)
        found = first @ pattern_of("ProductPattern", at, pointers, int(across))
        if found.nnz > np.iinfo(INDEX).max:
            msg = (
                f"ProductPattern: a product that stores no more than {np.iinfo(INDEX).max} elements is needed, as many "
                f"as {INDEX} counts, got {found.nnz}. Multiply blocks of rows."
            )
            raise SparseShapeError(msg)
        found.sort_indices()
        output_storage[0][0] = found.indices.astype(INDEX)
        output_storage[1][0] = found.indptr.astype(INDEX)

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return that there is a pointer for each line and one more; the number of positions is not known."""
        return [None, shapes[1]]


@static_op
class SampledSparseProduct(Kernel):
    """The elements of a product A B of compressed matrices at the positions of a pattern.

    The inputs are ``(data, indices, indptr)`` of A, the same of B, and of the pattern ``(at, pointers, across)``.
    """

    may_run_on_host: ClassVar[bool] = True
    smooth = (0, 3)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a vector with a number for each entry of the pattern."""
        a, a_indices, a_indptr, b, b_indices, b_indptr, at, pointers, across = types
        dtype = self.numbers("elements", (1, 1), a, b)
        for kind in (a_indices, a_indptr, b_indices, b_indptr, pointers):
            self.vector(kind, "positions")
        self.length(across)
        return [TensorType(dtype, self.vector(at, "at").shape)]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Multiply with SciPy."""
        a, a_indices, a_indptr, b, b_indices, b_indptr, at, pointers, across = inputs
        right = matrix_of("SampledSparseProduct", b, b_indices, b_indptr, int(across))
        left = matrix_of("SampledSparseProduct", a, a_indices, a_indptr, len(b_indptr) - 1)
        _same_lines("SampledSparseProduct", a_indptr, pointers)
        check_structure("SampledSparseProduct", at, pointers, int(across))
        output_storage[0][0] = _at(left @ right, at, pointers).astype(a.dtype, copy=False)

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the number of positions."""
        return [shapes[6]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Multiply G Bᴴ where A stores something, and Aᴴ G where B does."""
        a, a_indices, a_indptr, b, b_indices, b_indptr, at, pointers, across = as_variables(inputs)
        (g,) = as_variables(cotangents)
        inner = (b_indptr.shape[0] - 1).astype("int64")
        turned, starts, order = TransposedPattern()(b_indices, b_indptr, across)
        of_a = SampledSparseProduct()(
            g, at, pointers, b.conj()[order], turned, starts, a_indices, a_indptr, inner
        )  # fmt: skip
        turned, starts, order = TransposedPattern()(a_indices, a_indptr, inner)
        of_b = SampledSparseProduct()(
            a.conj()[order], turned, starts, g, at, pointers, b_indices, b_indptr, across
        )  # fmt: skip
        return [of_a, None, None, of_b, *[None] * 5]
