"""Whose memory results are in: where that is certain, they need not be looked at in each call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch

from treadle.graph import Apply, DeepCopyOp, FunctionGraph, Variable
from treadle.link.torch.programs.merging import Merged
from treadle.link.torch.programs.storage import STORAGE_DTYPES
from treadle.link.torch.table import Checked, Lowered
from treadle.tensor import (
    Accumulation,
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    ArgReduction,
    DimShuffle,
    Elemwise,
    IncSubtensor,
    Join,
    LogSoftmax,
    LogSumExp,
    MatMul,
    Reduction,
    Reshape,
    Softmax,
    Sort,
    tensors,
)

# Ops whose results are in new memory, whatever they are given.
_NEW = (
    *(Accumulation, AdvancedIncSubtensor, AdvancedSubtensor, ArgReduction, IncSubtensor, Join, LogSoftmax, LogSumExp),
    *(DeepCopyOp, MatMul, Softmax, Sort),
)
# Ops whose results have the elements of the first input, in its memory or not.
_ARRANGING = (DimShuffle, Reshape)


def fresh_outputs(
    fgraph: FunctionGraph, merged: Mapping[Apply, Merged], lowered: Mapping[Apply, Lowered], place: torch.device
) -> tuple[bool, ...]:
    """Return whether each output is certain to be all of a block of memory that nothing else is in."""
    roots = [_root(v, merged) for v in fgraph.outputs]
    times = Counter(roots)

    def is_fresh(root: Variable) -> bool:
        node = root.owner
        if node is None or times[root] > 1:
            return False
        return node in merged or (node in lowered and makes_new_memory(node, lowered[node], place))

    return tuple(map(is_fresh, roots))


def _root(var: Variable, merged: Mapping[Apply, Merged]) -> Variable:
    while var.owner is not None and var.owner not in merged and isinstance(var.owner.op, _ARRANGING):
        var = var.owner.inputs[0]
    return var


def makes_new_memory(node: Apply, lowered: Lowered, place: torch.device) -> bool:
    """Whether a node's result is certain to share no memory with its inputs, and to be all of its block.

    Of an elementwise function that is tried: some return what they were given, such as the real part of a real number.
    """
    op = node.op
    if isinstance(op, Reduction):
        return bool(op.axes)
    run = lowered.run if isinstance(lowered, Checked) else lowered
    if not isinstance(op, Elemwise) or len(node.outputs) != 1:
        return isinstance(op, _NEW) or getattr(run, "makes_new_memory", False)
    operands = [
        torch.ones((2,) * v.type.ndim, dtype=STORAGE_DTYPES[v.type.dtype], device=place) for v in tensors(node.inputs)
    ]
    made: Any = run(*operands)
    result: torch.Tensor = made[1] if isinstance(lowered, Checked) else made
    blocks = {x.untyped_storage().data_ptr() for x in operands}
    storage = result.untyped_storage()
    return storage.data_ptr() not in blocks and storage.nbytes() == result.nbytes
