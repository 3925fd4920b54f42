"""Rewriters that move sizes, orders of dimensions and indices from draws to the parameters.

They change which numbers are drawn, not their distribution, so no mode has them: they are applied by
``rewrite_graph(..., custom_rewrite=in2out(local_subtensor_rv_lift))``. A draw that something else needs as well stays
as it is. The generator after it moves on by what is drawn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Constant
from treadle.surface.rewriters import node_rewriter
from treadle.tensor.indexing.expressions import Positions, Span
from treadle.tensor.indexing.indexing import AdvancedSubtensor, Subtensor
from treadle.tensor.random.op import RandomVariable
from treadle.tensor.random.size import batch_lengths, joined_lengths
from treadle.tensor.shapes.broadcasting import broadcast_to
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.types.none_and_slices import NoneConst, NoneTypeT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

__all__ = ["local_dimshuffle_rv_lift", "local_rv_size_lift", "local_subtensor_rv_lift"]


@node_rewriter([RandomVariable])
def local_rv_size_lift(fgraph: FunctionGraph, node: Any) -> Sequence[Variable] | None:
    """normal(m, s, size=n) -> normal(m broadcast to n, s broadcast to n)."""
    del fgraph
    rng, size, *parameters = node.inputs
    if isinstance(size.type, NoneTypeT) or not parameters:
        return None
    batch = joined_lengths(size)
    spread = [_spread(p, rank, batch) for p, rank in zip(parameters, node.op.ndims_params, strict=True)]
    outputs = node.op.make_node(rng, NoneConst, *spread).outputs
    return outputs if node.outputs[1].type.is_super(outputs[1].type) else None


@node_rewriter([DimShuffle])
def local_dimshuffle_rv_lift(fgraph: FunctionGraph | None, node: Any) -> object:
    """normal(m, s).T -> normal(m.T, s.T); not where dimensions of single draws change their places."""
    drawn = _draw(fgraph, node)
    if drawn is None:
        return None
    size: object
    _, size, *parameters = drawn.inputs
    sized = not isinstance(size.type, NoneTypeT)
    supp = drawn.op.ndim_supp
    batch = node.op.ndim - supp
    order = node.op.order
    if list(order[len(order) - supp :]) != list(range(batch, batch + supp)):
        return None
    outer = order[: len(order) - supp]
    if any(at != NEW and int(at) >= batch for at in outer):
        return None
    if sized:
        sizes = joined_lengths(size)
        size = [1 if at == NEW else sizes[int(at)] for at in outer]
    moved = []
    for p, rank in zip(parameters, drawn.op.ndims_params, strict=True):
        own_batch = p.ndim - rank
        if own_batch == 0 and sized:
            moved.append(p)
            continue
        missing = batch - own_batch
        dropped = [at - missing for at in range(missing, batch) if at not in outer]
        if any(p.type.shape[at] != 1 for at in dropped):
            return None
        places = [NEW if at == NEW or int(at) < missing else int(at) - missing for at in outer]
        moved.append(dimshuffle(p, *places, *range(own_batch, own_batch + rank)))
    return _replaced(node, drawn, size, moved)


@node_rewriter([Subtensor, AdvancedSubtensor])
def local_subtensor_rv_lift(fgraph: FunctionGraph | None, node: Any) -> object:
    """normal(m, s)[i] -> normal(m[i], s[i]).

    Not where the index picks parts of single draws, nor where it may pick a draw twice: arrays of positions must be
    constants, or those of a mask.
    """
    drawn = _draw(fgraph, node)
    if drawn is None:
        return None
    size: object
    _, size, *parameters = drawn.inputs
    picked = node.inputs[1:]
    entries = node.op.entries
    batch = len(entries) - drawn.op.ndim_supp
    if not parameters or not all(isinstance(e, Span) and e.is_full for e in entries[batch:]):
        return None
    if not _picks_once(entries, picked, drawn.outputs[1].type.shape):
        return None
    ranks = drawn.op.ndims_params
    whole_batch = batch_lengths(size, list(zip(parameters, ranks, strict=True)))
    # Parameters of rank 0 are the same for all draws; one parameter at least says how many there are.
    varied = [k for k, (p, rank) in enumerate(zip(parameters, ranks, strict=True)) if p.ndim > rank] or [0]
    indexed = list(parameters)
    for k in varied:
        op = replace(node.op, entries=(*entries[:batch], *[Span()] * ranks[k]))
        indexed[k] = op(_spread(parameters[k], ranks[k], whole_batch), *picked)
    return _replaced(node, drawn, NoneConst, indexed)


def _draw(fgraph: FunctionGraph | None, node: Apply) -> NodeOf[RandomVariable] | None:
    """Return the node of the draw that a node takes, if nothing else needs that."""
    drawn = node.inputs[0].owner
    if drawn is None or not isinstance(drawn.op, RandomVariable) or node.inputs[0] is not drawn.outputs[1]:
        return None
    if fgraph is not None and len(fgraph.clients[drawn.outputs[1]]) > 1:
        return None
    return drawn  # type: ignore[return-value]  # as looked at


def _spread(parameter: Any, rank: int, batch: Sequence[Any]) -> Variable:
    """Return a parameter with all dimensions of the batch, at their full lengths."""
    return broadcast_to(parameter, [*batch, *lengths(parameter)[parameter.ndim - rank :]])


def _picks_once(entries: Sequence[object], picked: Sequence[Variable], shape: Sequence[int | None]) -> bool:
    """Whether an index certainly picks no element twice."""
    arrays = [(e, n) for e, n in zip(entries, shape, strict=True) if isinstance(e, Positions)]
    if all(e.length is not None for e, _ in arrays):
        return True
    if len(arrays) != 1 or len(picked) != 1 or not isinstance(picked[0], Constant):
        return False
    positions = np.asarray(picked[0].data)
    length = arrays[0][1]
    if length is not None:
        positions = positions % max(length, 1)
    elif positions.size and positions.min() < 0:
        return False
    return len(np.unique(positions)) == positions.size


def _replaced(
    node: Apply, drawn: NodeOf[RandomVariable], size: object, parameters: Sequence[Any]
) -> Mapping[Variable, Variable] | None:
    """Return a draw with other parameters for the node's output, and the generator after it for that of the old one."""
    following, draw = drawn.op.make_node(drawn.inputs[0], size, *parameters).outputs
    if not node.outputs[0].type.is_super(draw.type):
        return None
    return {node.outputs[0]: draw, drawn.outputs[0]: following}
