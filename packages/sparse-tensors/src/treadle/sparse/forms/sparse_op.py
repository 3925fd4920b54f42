"""SparseOp: the base of ops on sparse matrices, which run in Python or are given by kernels on their arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from treadle.graph import DisconnectedType, NullType, Op, Variable
from treadle.sparse.operands import Operand
from treadle.sparse.types.conversion import as_sparse_or_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    Variables = Sequence[Variable]
    Terms = Sequence[Variable | None]

__all__ = ["SparseOp", "is_absent"]


def is_absent(term: Variable | None) -> bool:
    """Whether a gradient or tangent is none: disconnected, or not defined."""
    return term is None or isinstance(term.type, DisconnectedType | NullType)


class SparseOp(Op):
    """An op that takes or makes sparse matrices.

    SciPy's matrices exist in Python only, so that the op runs there in every mode. What `decompose` gives, kernels on
    the arrays of the matrices (`treadle.sparse.kernels`), takes its place where graphs are rewritten or compiled.
    """

    on_host: ClassVar[bool] = True
    # In how many of its first inputs the op is linear, in each by itself; None if it is not.
    linear_count: ClassVar[int | None] = None

    def as_input(self, value: object) -> Operand:
        """Take a sparse matrix, or what can be made a tensor."""
        return as_sparse_or_tensor_variable(value)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Terms) -> Terms:
        """Return the sum of the op's results for one tangent after the other, of an op that is linear in each."""
        if self.linear_count is None:
            return super().pushforward(inputs, outputs, tangents)
        total: Operand = None
        for i, tangent in enumerate(tangents[: self.linear_count]):
            if not is_absent(tangent):
                (term,) = self.make_node(*inputs[:i], tangent, *inputs[i + 1 :]).outputs
                total = term if total is None else total + term
        return [total]
