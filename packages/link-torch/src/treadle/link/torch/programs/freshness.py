"""Which nodes make results in memory of their own, whatever their inputs: these need not be looked at in each call."""

from __future__ import annotations

from typing import Any

import torch

from treadle.graph import Apply
from treadle.link.torch.programs.storage import STORAGE_DTYPES
from treadle.link.torch.table import Checked, Lowered
from treadle.tensor import Elemwise, LogSoftmax, LogSumExp, Reduction, Softmax, tensors


def makes_new_memory(node: Apply, lowered: Lowered, place: torch.device) -> bool:
    """Whether a node's result is certain to share no memory with its inputs, and to be all of its block.

    Of an elementwise function that is tried: some return what they were given, such as the real part of a real number.
    """
    op = node.op
    if isinstance(op, Reduction):
        return bool(op.axes)
    if not isinstance(op, Elemwise) or len(node.outputs) != 1:
        return isinstance(op, LogSumExp | Softmax | LogSoftmax)
    run = lowered.run if isinstance(lowered, Checked) else lowered
    operands = [
        torch.ones((2,) * v.type.ndim, dtype=STORAGE_DTYPES[v.type.dtype], device=place) for v in tensors(node.inputs)
    ]
    made: Any = run(*operands)
    result: torch.Tensor = made[1] if isinstance(lowered, Checked) else made
    blocks = {x.untyped_storage().data_ptr() for x in operands}
    storage = result.untyped_storage()
    return storage.data_ptr() not in blocks and storage.nbytes() == result.nbytes
