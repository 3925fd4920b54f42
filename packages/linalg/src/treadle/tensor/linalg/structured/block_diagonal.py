"""Block diagonal matrices: the op, and its function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import static_op
from treadle.tensor.batches.batching import broadcast_length
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.indexing.indexing import set_subtensor
from treadle.tensor.lengths.numbers import number, plus
from treadle.tensor.linalg.matrix_op import MatrixOp
from treadle.tensor.ops.fields import fix_integers
from treadle.tensor.products.product import stacked_term
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.dimshuffle import shape_padleft
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from treadle.graph import Variable
    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.variables.variable import TensorVariable

    Place = tuple[EllipsisType, slice, slice]
    from treadle.tensor.variables.variable import TensorLike

__all__ = ["BlockDiagonal", "block_diag"]


@static_op
class BlockDiagonal(MatrixOp):
    """Matrices one after another along the diagonal of a larger one, zeros elsewhere.

    Parameters
    ----------
    n_inputs
        How many.
    """

    linear = "jointly"
    linear_count = None

    n_inputs: int

    dtypes = None

    def __post_init__(self) -> None:
        """Bring the field to one form."""
        super().__post_init__()
        fix_integers(self, "n_inputs")

    @property
    def signature(self) -> str:  # type: ignore[override]  # depends on the number of inputs
        """Two lengths for each input, and their sums."""
        each = range(self.n_inputs)
        lengths = ",".join("+".join(f"{name}{k}" for k in each) for name in "mn")
        return f"{','.join(f'(m{k},n{k})' for k in each)}->({lengths})"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Write them into zeros."""
        return self.of_stacks(*matrices)

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...]:
        """Write them into zeros."""
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in stacks))
        result = np.zeros((*batch, *(sum(x.shape[d] for x in stacks) for d in (-2, -1))), stacks[0].dtype)
        row = column = 0
        for x in stacks:
            n, m = x.shape[-2:]
            result[..., row : row + n, column : column + m] = x
            row, column = row + n, column + m
        return (result,)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return zeros with the matrices written into them."""
        blocks = tensors(inputs)
        own = [lengths(x) for x in blocks]
        batch = [broadcast_length([n[d] for n in own]) for d in range(blocks[0].ndim - 2)]
        places, rows, columns = _places(blocks)
        result = alloc(constant(0, dtype=blocks[0].dtype), *batch, rows, columns)
        for x, place in zip(blocks, places, strict=True):
            result = set_subtensor(result[place], x)
        return [result]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Cut the cotangent into the blocks.

        Through `decompose`: 18 nodes in a gradient of two blocks in place of 15.
        """
        blocks, ct = tensors(inputs), tensors(cotangents)[0]
        return [stacked_term(ct[place], x) for x, place in zip(blocks, _places(blocks)[0], strict=True)]


def _places(blocks: Sequence[TensorVariable]) -> tuple[list[Place], Number, Number]:
    """Return where each block stands, and the lengths of the whole matrix."""
    row: Number = 0
    column: Number = 0
    places: list[Place] = []
    for x in blocks:
        n, m = (number(length) for length in lengths(x)[-2:])
        next_row, next_column = plus(row, n), plus(column, m)
        places.append((..., slice(row, next_row), slice(column, next_column)))
        row, column = next_row, next_column
    return places, row, column


def block_diag(*arrs: TensorLike) -> TensorVariable:
    """Return matrices one after another along the diagonal of a larger one (as scipy.linalg.block_diag).

    Parameters
    ----------
    arrs
        Matrices, or stacks of them, which broadcast. A vector is a matrix of one row, a number one of one element.

    Examples
    --------
    >>> block_diag([[1, 2], [3, 4]], 5).eval()
    array([[1, 2, 0],
           [3, 4, 0],
           [0, 0, 5]])
    """
    blocks = [as_tensor_variable(x) for x in arrs] or [constant(np.zeros((1, 0)))]
    dtype = np.result_type(*(x.type.numpy_dtype for x in blocks))
    ndim = max(2, *(x.ndim for x in blocks))
    matrix: TensorVariable = BlockDiagonal(len(blocks))(*(shape_padleft(cast(x, dtype), ndim - x.ndim) for x in blocks))
    return matrix
