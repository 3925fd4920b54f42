"""Sorting."""

from __future__ import annotations

from collections.abc import Callable

import torch

from treadle.graph import Apply
from treadle.link.torch.programs.storage import SIGN_BIT, kind
from treadle.link.torch.table import TORCH
from treadle.tensor import ArgSort, Sort, tensors


@TORCH.register(Sort)
def sort(op: Sort, node: Apply) -> Callable[[torch.Tensor], torch.Tensor]:
    """Lower to torch.sort; the bits of uint64 are ordered as signed numbers."""
    if kind(tensors(node.inputs)[0].type.dtype) == "u":
        return lambda x: torch.bitwise_xor(torch.sort(torch.bitwise_xor(x, SIGN_BIT), dim=op.axis).values, SIGN_BIT)
    return lambda x: torch.sort(x, dim=op.axis).values


@TORCH.register(ArgSort)
def argsort(op: ArgSort, node: Apply) -> Callable[[torch.Tensor], torch.Tensor]:
    """Lower to a stable torch.argsort."""
    flip = kind(tensors(node.inputs)[0].type.dtype) == "u"
    return lambda x: torch.argsort(torch.bitwise_xor(x, SIGN_BIT) if flip else x, dim=op.axis, stable=True)
