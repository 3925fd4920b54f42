"""What compiled programs do with the interpreter's lock while they run: those that may take long let it go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from treadle.graph import HasInnerGraph
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.reductions.fused_reduction import FusedReduction
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.types.conversion import tensors
from treadle.tensor.variables.variable import TensorConstant

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph

__all__ = ["SHORT_VECTOR", "locking_of"]

# Letting the lock go and taking it again takes longer than so many elements do.
SHORT_VECTOR = 256


def locking_of(fgraph: FunctionGraph) -> Literal["hold", "release", "release if long"]:
    """Return what calls of a graph's program do with the lock; a call is long with a vector beyond `SHORT_VECTOR`.

    Elementwise functions and reductions of vectors take time for the elements of their arguments and constants.
    """
    nodes, variables = fgraph.apply_nodes, tensors([*fgraph.variables])
    rank = max((v.type.ndim for v in variables), default=0)
    if any(isinstance(node.op, HasInnerGraph) for node in nodes):
        return "release"
    if not rank:
        return "hold"
    is_bounded = (
        rank == 1
        and all(isinstance(node.op, Elemwise | Reduction | FusedReduction | DimShuffle) for node in nodes)
        and all(v.data.size <= SHORT_VECTOR for v in variables if isinstance(v, TensorConstant))
    )
    return "release if long" if is_bounded else "release"
