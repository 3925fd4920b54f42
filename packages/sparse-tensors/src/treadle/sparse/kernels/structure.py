"""What kernels share: types of the arrays, and checks of the structure that they describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.graph import DisconnectedType, NullType, Op, Variable
from treadle.sparse.errors import SparseShapeError, SparseTypeError
from treadle.sparse.operands import Operand
from treadle.sparse.types.sparse_type import DTYPES, scipy_sparse
from treadle.tensor import TensorType, as_tensor_variable

if TYPE_CHECKING:
    from treadle.graph import Apply, Type

# The dtype of positions and pointers: what SciPy takes for all but the largest matrices.
INDEX = "int32"
Positions = np.ndarray[Operand, Operand]
Shape = Sequence[Operand]


class Kernel(Op):
    """An op on the arrays of compressed matrices.

    Attributes
    ----------
    smooth
        Positions of the inputs that gradients flow to. The op is linear in each of them by itself.
    """

    smooth: ClassVar[tuple[int, ...]] = ()

    def as_input(self, value: Operand) -> Variable:
        """Take anything that can be made a tensor."""
        return as_tensor_variable(value)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that gradients flow to the smooth inputs."""
        return [[i in self.smooth] * len(node.outputs) for i in range(len(node.inputs))]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return that nothing flows back, for an op without smooth inputs."""
        return [None] * len(inputs) if not self.smooth else super().pullback(inputs, outputs, cotangents)

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return the sum of the op's results for one tangent after the other."""
        total: Operand = None
        for i in self.smooth:
            tangent = tangents[i]
            if tangent is not None and not isinstance(tangent.type, DisconnectedType | NullType):
                (term,) = self.make_node(*inputs[:i], tangent, *inputs[i + 1 :]).outputs
                total = term if total is None else total + term
        return [total] if len(outputs) == 1 else [None] * len(outputs)

    def promises(self, fact: str, output: Variable, holds: object) -> bool:
        """Promise that positions are not negative."""
        return fact == "nonnegative" and not self.smooth

    def vector(self, kind: Type, what: str) -> TensorType:
        """Return a type that must be one of vectors of positions."""
        if not isinstance(kind, TensorType) or kind.ndim != 1 or kind.dtype != INDEX:
            msg = f"{self}: {what} must be a vector of {INDEX}, got {kind}. Cast it."
            raise SparseTypeError(msg)
        return kind

    def numbers(self, what: str, ranks: Sequence[int], *kinds: Type) -> str:
        """Return the common dtype of operands, which must be of some ranks."""
        dtypes = {kind.dtype for kind in kinds if isinstance(kind, TensorType)}
        found = [kind.ndim if isinstance(kind, TensorType) else None for kind in kinds]
        if found != list(ranks) or len(dtypes) != 1 or not dtypes <= set(DTYPES):
            needed = ", ".join(map(str, ranks))
            msg = (
                f"{self}: {what} of ranks {needed} and of one dtype that sparse matrices have are needed, got "
                f"{', '.join(map(str, kinds))}. Cast them."
            )
            raise SparseTypeError(msg)
        return dtypes.pop()

    def length(self, kind: Type) -> None:
        """Refuse what is no integer scalar: the number of positions across the lines."""
        if not isinstance(kind, TensorType) or kind.ndim or kind.dtype != "int64":
            msg = f"{self}: the number of positions across lines must be an int64 scalar, got {kind}. Cast it."
            raise SparseTypeError(msg)


def lines_of(indptr: TensorType) -> int | None:
    """Return the number of lines that pointers of a type are known to have."""
    (n,) = indptr.shape
    return None if n is None else max(n - 1, 0)


def check_structure(what: str, indices: Positions, indptr: Positions, across: int, count: int | None = None) -> None:
    """Refuse positions and pointers that describe no matrix.

    Raises
    ------
    SparseShapeError
        If pointers do not run from 0 to the number of positions without decreasing, if a position is outside
        of the lines, or if there are not as many elements as positions.
    """
    found = None
    if count is not None and count != len(indices):
        found = f"{count} elements and {len(indices)} positions. Give each element a position"
    elif not len(indptr) or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        found = (
            f"pointers {indptr} for {len(indices)} positions. They must start with 0, never decrease, and end with "
            "the number of positions"
        )
    elif len(indices) and not 0 <= indices.min() <= indices.max() < across:
        found = f"positions from {indices.min()} to {indices.max()} in lines of length {across}. Keep them inside"
    if found is not None:
        msg = f"{what}: the arrays describe no matrix, got {found}."
        raise SparseShapeError(msg)


def matrix_of(what: str, data: np.ndarray, indices: Positions, indptr: Positions, across: int) -> Operand:
    """Return SciPy's CSR matrix with these arrays, which are checked."""
    check_structure(what, indices, indptr, across, len(data))
    return scipy_sparse.csr_matrix((data, indices, indptr), (len(indptr) - 1, across))


def pattern_of(what: str, indices: Positions, indptr: Positions, across: int) -> Operand:
    """Return SciPy's CSR matrix of ones at these positions."""
    return matrix_of(what, np.ones(len(indices), np.int64), indices, indptr, across)


def as_variables(inputs: Sequence[Variable]) -> Sequence[Operand]:
    """Return the inputs of a node, for type checkers: what they are was checked when the node was made."""
    return inputs
