"""Products of a compressed matrix with dense ones: A Y, Aᵀ Y, and the elements of U Vᵀ where A stores something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import treadle.tensor as tt
from treadle.graph import static_op
from treadle.sparse.errors import SparseShapeError
from treadle.sparse.kernels.lines import line_of_entry
from treadle.sparse.kernels.structure import Kernel, as_variables, check_structure, lines_of, matrix_of
from treadle.sparse.operands import Operand
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Cell, Type, Value, Variable

    Variables = Sequence[Variable]
    Terms = Sequence[Variable | None]

__all__ = ["LinesProduct", "SampledProduct", "TransposedLinesProduct"]


def _conjugate(x: Operand) -> Operand:
    """Return the conjugate of complex numbers, by which gradients flow; real ones as they are."""
    return x.conj()


@static_op
class LinesProduct(Kernel):
    """A Y from ``(data, indices, indptr, Y)``: A's lines are the result's rows, Y is a matrix."""

    smooth = (0, 3)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a matrix type."""
        data, indices, indptr, dense = types
        dtype = self.numbers("elements and a matrix", (1, 2), data, dense)
        self.vector(indices, "indices")
        lines = lines_of(self.vector(indptr, "indptr"))
        return [TensorType(dtype, (lines, dense.shape[1]))]  # type: ignore[attr-defined]  # a tensor type

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Multiply with SciPy."""
        data, indices, indptr, dense = inputs
        output_storage[0][0] = np.asarray(matrix_of("LinesProduct", data, indices, indptr, len(dense)) @ dense)

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the number of lines, and of Y's columns."""
        return [(shapes[2][0] - 1, shapes[3][1])]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Sample G Yᴴ where A stores something, and multiply Aᴴ G."""
        data, indices, indptr, dense = as_variables(inputs)
        (g,) = as_variables(cotangents)
        of_data = SampledProduct()(indices, indptr, g, _conjugate(dense))
        of_dense = TransposedLinesProduct()(_conjugate(data), indices, indptr, g, dense.shape[0])
        return [of_data, None, None, of_dense]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Add the product of each entry with its row of Y to its line."""
        data, indices, indptr, dense = as_variables(inputs)
        zeros = tt.zeros((indptr.shape[0] - 1, dense.shape[1]), dtype=dense.dtype)
        return [zeros[line_of_entry(indices, indptr)].inc(data[:, None] * dense[indices])]


@static_op
class TransposedLinesProduct(Kernel):
    """Aᵀ Y from ``(data, indices, indptr, Y, across)``: A's lines belong to Y's rows."""

    smooth = (0, 3)
    static_inputs = (4,)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a matrix type."""
        data, indices, indptr, dense, across = types
        dtype = self.numbers("elements and a matrix", (1, 2), data, dense)
        self.vector(indices, "indices")
        self.vector(indptr, "indptr")
        self.length(across)
        return [TensorType(dtype, (None, dense.shape[1]))]  # type: ignore[attr-defined]  # a tensor type

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Multiply with SciPy."""
        data, indices, indptr, dense, across = inputs
        matrix = matrix_of("TransposedLinesProduct", data, indices, indptr, int(across))
        if len(dense) != matrix.shape[0]:
            msg = (
                f"TransposedLinesProduct: a matrix with {matrix.shape[0]} rows is needed, got one of shape "
                f"{dense.shape}. Check the shapes of the factors."
            )
            raise SparseShapeError(msg)
        output_storage[0][0] = np.asarray(matrix.T @ dense)

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the length across the lines, and the number of Y's columns."""
        return [(node.inputs[4], shapes[3][1])]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Sample Y* Gᵀ where A stores something, and multiply A* G."""
        data, indices, indptr, dense, _ = as_variables(inputs)
        (g,) = as_variables(cotangents)
        of_data = SampledProduct()(indices, indptr, _conjugate(dense), g)
        return [of_data, None, None, LinesProduct()(_conjugate(data), indices, indptr, g), None]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Add the product of each entry with its line's row of Y to the row of its position."""
        data, indices, indptr, dense, across = as_variables(inputs)
        zeros = tt.zeros((across, dense.shape[1]), dtype=dense.dtype)
        return [zeros[indices].inc(data[:, None] * dense[line_of_entry(indices, indptr)])]


@static_op
class SampledProduct(Kernel):
    """The elements of U Vᵀ at the entries, from ``(indices, indptr, U, V)``: lines belong to U's rows."""

    smooth = (2, 3)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a vector with a number for each entry."""
        indices, indptr, left, right = types
        dtype = self.numbers("matrices", (2, 2), left, right)
        self.vector(indptr, "indptr")
        return [TensorType(dtype, self.vector(indices, "indices").shape)]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Multiply row by row with NumPy."""
        indices, indptr, left, right = inputs
        check_structure("SampledProduct", indices, indptr, len(right))
        if len(left) != len(indptr) - 1 or left.shape[1] != right.shape[1]:
            msg = (
                f"SampledProduct: a matrix with {len(indptr) - 1} rows and another one with as many columns are "
                f"needed, got shapes {left.shape} and {right.shape}. Check the shapes of the factors."
            )
            raise SparseShapeError(msg)
        sums = np.zeros(len(indices), left.dtype)
        # In blocks, so that the copies of rows stay small.
        lines = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        block = max(1, 2**20 // max(left.shape[1], 1))
        for start in range(0, len(lines), block):
            part = slice(start, min(start + block, len(lines)))
            sums[part] = np.einsum("ij,ij->i", left[lines[part]], right[indices[part]])
        output_storage[0][0] = sums

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the number of entries."""
        return [shapes[0]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Multiply the matrix of the cotangents with V*, and its transpose with U*."""
        indices, indptr, left, right = as_variables(inputs)
        (g,) = as_variables(cotangents)
        of_left = LinesProduct()(g, indices, indptr, _conjugate(right))
        of_right = TransposedLinesProduct()(g, indices, indptr, _conjugate(left), right.shape[0])
        return [None, None, of_left, of_right]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Sum the products of the rows that belong to each entry."""
        indices, indptr, left, right = as_variables(inputs)
        products = left[line_of_entry(indices, indptr)] * right[indices]
        return [products.sum(axis=1, dtype=left.dtype)]
