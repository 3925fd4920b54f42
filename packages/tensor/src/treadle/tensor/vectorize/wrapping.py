"""Python functions along a batch: called once for each element of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import VectorizeError, vectorize_graph
from treadle.tensor.types import TensorType
from treadle.tensor.vectorize.batching import most_batch, spread_all
from treadle.tensor.wrapping import FromFunctionOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Variable, VectorizerTable


@dataclass(frozen=True, slots=True)
class OverBatch:
    """The function of an op, for arrays with batch dimensions.

    Attributes
    ----------
    op
        The op.
    batch
        Number of batch dimensions, which all inputs have in full.
    """

    op: FromFunctionOp
    batch: int

    def __call__(self, *arrays: Any) -> list[Any]:
        """Return the results for all elements of the batch, one array for each output.

        Raises
        ------
        GraphValueError, GraphTypeError
            If the function returns something else than its types say.
        ValueError
            If its results have different shapes.
        """
        lengths = arrays[0].shape[: self.batch]
        rows = [self.op.values_of([x[(*at, ...)] for x in arrays]) for at in np.ndindex(*lengths)]
        if not rows:
            # What shapes the results have, a call on ones tells.
            found = self.op.values_of([np.ones(x.shape[self.batch :], x.dtype) for x in arrays])
            return [np.empty((*lengths, *x.shape), x.dtype) for x in found]
        columns = [np.stack(values) for values in zip(*rows, strict=True)]
        return [x.reshape((*lengths, *x.shape[1:])) for x in columns]


@dataclass(frozen=True, slots=True)
class PullbackOverBatch:
    """The gradient of such a function: that of the op, vectorised."""

    op: FromFunctionOp

    def __call__(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable | None]:
        """Return the gradients."""
        kinds: tuple[Any, Any, Any] = (self.op.itypes, self.op.otypes, self.op.otypes)
        x, y, by = ([kind.make_variable() for kind in each] for each in kinds)
        terms = self.op.pullback(x, y, by)
        there = [term for term in terms if term is not None and isinstance(term.type, TensorType)]
        pairs = list(zip((*x, *y, *by), (*inputs, *outputs, *cotangents), strict=True))
        found = dict(zip(there, vectorize_graph(there, pairs), strict=True))
        return [None if term is None else found.get(term, term) for term in terms]


def vectorize_from_function(op: FromFunctionOp, node: Apply, *inputs: Any) -> Apply:
    """Call the function for each element of the batch.

    Raises
    ------
    VectorizeError
        If a value is no tensor.
    """
    others = [var for var in (*node.inputs, *node.outputs) if not isinstance(var.type, TensorType)]
    if others:
        msg = f"{op}: a value that is no tensor has no batch, got {others[0]} of type {others[0].type}"
        raise VectorizeError(msg)
    pairs = list(zip(node.inputs, inputs, strict=True))
    batch = most_batch(pairs)
    wide = spread_all(pairs)
    outs: list[Any] = [out.type for out in node.outputs]
    made = FromFunctionOp(
        OverBatch(op, batch),
        [x.type for x in wide],
        [TensorType(kind.dtype, (*wide[0].type.shape[:batch], *kind.shape)) for kind in outs],
        pullback=None if op.given_pullback is None else PullbackOverBatch(op),
    )
    return made.make_node(*wide)


def register(table: VectorizerTable) -> None:
    """Register the rule."""
    table.register(FromFunctionOp)(vectorize_from_function)
