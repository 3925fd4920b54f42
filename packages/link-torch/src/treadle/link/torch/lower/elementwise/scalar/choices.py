"""Choices between two tensors, element by element.

PyTorch's own goes through a branch for each element of floats. Where the condition changes often, as with random
numbers, most of its time goes into branches that were predicted wrongly: eight times what the elements take. Here the
bits of both are mixed by a mask, which has no branch.
"""

from __future__ import annotations

import numpy as np
import torch

from treadle.link.torch.looking import can_look
from treadle.link.torch.scalars import SCALARS
from treadle.tensor import ALL_KINDS

# Of each dtype the integer of its size.
_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}
# Fewer elements are chosen in less time by PyTorch's own.
_MANY = 1 << 12
# Of so many elements in each of so many places, how many changes of the condition cost more than mixing float64.
_PLACES, _SAMPLE, _CHANGES = 8, 64, 80


@SCALARS.function("switch", kinds=ALL_KINDS)
def switch(condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return x where the condition holds, y elsewhere: NaN and zeros with a sign bit by bit."""
    integer = _BITS.get(x.dtype)
    if integer is None or condition.numel() < _MANY or y.dtype != x.dtype or not can_look(condition):
        return torch.where(condition, x, y)
    shape = condition.shape
    fits = all((v.shape == shape or (v.numel() == 1 and v.dim() <= len(shape))) and not v.is_neg() for v in (x, y))
    if not fits or not condition.is_contiguous() or (integer is torch.int64 and not _changes_often(condition)):
        return torch.where(condition, x, y)
    first, second = x.view(integer), y.view(integer)
    # All bits of an element, or none.
    mask = condition.to(integer)
    if _is_zero(second):
        return mask.neg_().bitwise_and_(first).view(x.dtype)
    if _is_zero(first):
        return mask.sub_(1).bitwise_and_(second).view(x.dtype)
    return mask.neg_().bitwise_and_(torch.bitwise_xor(first, second)).bitwise_xor_(second).view(x.dtype)


def _is_zero(bits: torch.Tensor) -> bool:
    return bits.numel() == 1 and int(bits) == 0


def _changes_often(condition: torch.Tensor) -> bool:
    """Whether a condition of many elements changes so often from one to the next that branches are slow."""
    flat = condition.view(-1)
    sample = flat.as_strided((_PLACES, _SAMPLE), (flat.numel() // _PLACES, 1)).numpy()
    return int(np.count_nonzero(sample[:, 1:] != sample[:, :-1])) > _CHANGES
