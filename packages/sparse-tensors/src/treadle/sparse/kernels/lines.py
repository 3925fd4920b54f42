"""LineOfEntry: the line of each stored element; Densified: the matrix as a dense one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import treadle.tensor as tt
from treadle.graph import static_op
from treadle.sparse.kernels.structure import (
    INDEX,
    Kernel,
    as_variables,
    check_structure,
    lines_of,
    matrix_of,
)
from treadle.sparse.operands import Operand
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Cell, Type, Value, Variable

__all__ = ["Densified", "LineOfEntry", "line_of_entry"]


@static_op
class LineOfEntry(Kernel):
    """The line of each entry, from ``(indices, indptr)``; of indices only the number matters."""

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a vector with a position for each entry."""
        indices, indptr = types
        self.vector(indptr, "indptr")
        return [TensorType(INDEX, self.vector(indices, "indices").shape)]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Repeat the number of each line."""
        indices, indptr = inputs
        check_structure("LineOfEntry", np.zeros_like(indices), indptr, 1)
        output_storage[0][0] = np.repeat(np.arange(len(indptr) - 1, dtype=INDEX), np.diff(indptr))

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the number of entries."""
        return [shapes[0]]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Search for each entry among the pointers."""
        indices, indptr = as_variables(inputs)
        entries = tt.arange(indices.shape[0], dtype=INDEX)
        return [(tt.searchsorted(indptr, entries, side="right") - 1).astype(INDEX)]


def line_of_entry(indices: Operand, indptr: Operand) -> Operand:
    """Return the line of each entry, as a vector."""
    return LineOfEntry()(indices, indptr)


@static_op
class Densified(Kernel):
    """The dense matrix, line by line, from ``(data, indices, indptr, across)``."""

    smooth = (0,)
    static_inputs = (3,)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a matrix type with the lines as rows."""
        data, indices, indptr, across = types
        dtype = self.numbers("elements", (1,), data)
        self.vector(indices, "indices")
        self.length(across)
        return [TensorType(dtype, (lines_of(self.vector(indptr, "indptr")), None))]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Make SciPy's matrix dense."""
        data, indices, indptr, across = inputs
        output_storage[0][0] = matrix_of("Densified", data, indices, indptr, int(across)).toarray()

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return the number of lines and the length across."""
        return [(shapes[2][0] - 1, node.inputs[3])]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Pick the gradient at each entry."""
        _, indices, indptr, _ = as_variables(inputs)
        (g,) = as_variables(cotangents)
        return [g[line_of_entry(indices, indptr), indices], None, None, None]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Add each entry to zeros."""
        data, indices, indptr, across = as_variables(inputs)
        zeros = tt.zeros((indptr.shape[0] - 1, across), dtype=data.dtype)
        return [zeros[line_of_entry(indices, indptr), indices].inc(data)]
