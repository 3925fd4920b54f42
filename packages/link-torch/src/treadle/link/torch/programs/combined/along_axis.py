"""Elements picked along one axis by positions, and zeros with values at such: gather and scatter in place of indices.

In graphs both are indexed by ranges of all other axes, which PyTorch's index goes through as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from treadle.graph import Apply, Constant, Variable
from treadle.link.torch.looking import can_look
from treadle.link.torch.programs.arranging import is_range
from treadle.link.torch.programs.storage import STORAGE_DTYPES
from treadle.link.torch.table import TORCH, Checked, Flag
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    Alloc,
    LogSoftmax,
    Positions,
    Softmax,
    TensorVariable,
    tensors,
)

# A checked function, the tensors that it takes, and the Python integers.
Found = tuple[Checked, Sequence[Variable], Sequence[Variable]]
# Computes the node by its own rule.
General = Callable[..., Any]


def picked_along(op: AdvancedSubtensor, node: Apply) -> Found | None:
    """Return what positions along one axis pick of a tensor."""
    (x,) = tensors(node.inputs[:1])
    # Simplified graphs ask what a softmax is of for its lengths.
    normalized = x.owner is not None and isinstance(x.owner.op, Softmax | LogSoftmax)
    alike = [x, *tensors(x.owner.inputs)] if x.owner is not None and normalized else [x]
    found = [_only_axis(op, node, 1, [(v, d) for d in range(x.type.ndim)]) for v in alike]
    axis = next((d for d in found if d is not None), None)
    if axis is None:
        return None
    return Checked(partial(_gathered, _general(node), axis)), (x, node.inputs[1 + axis]), ()


def set_along(op: AdvancedIncSubtensor, node: Apply) -> Found | None:
    """Return zeros of which elements at positions along one axis are set, or have something added."""
    made = node.inputs[0].owner
    out = tensors(node.outputs)[0].type
    if made is None or not isinstance(made.op, Alloc) or out.dtype not in {"float32", "float64"}:
        return None
    zero, *lengths = tensors(made.inputs)
    if not isinstance(zero, Constant) or zero.data.size != 1 or zero.data.tobytes().strip(b"\0"):
        return None
    axis = _only_axis(op, node, 2, lengths)
    if axis is None:
        return None
    run = partial(_scattered, _general(node), axis, op.set, STORAGE_DTYPES[out.dtype])
    return Checked(run), (node.inputs[1], node.inputs[2 + axis]), lengths


def _only_axis(
    op: AdvancedSubtensor | AdvancedIncSubtensor, node: Apply, first: int,
    lengths: Sequence[TensorVariable | tuple[TensorVariable, int]],
) -> int | None:  # fmt: skip
    """Return the axis along which positions are not all that there are; positions have the rank of the tensor."""
    at = tensors(node.inputs[first:])
    ndim = len(lengths)
    plain = all(isinstance(e, Positions) and e.length is None for e in op.entries) and len(at) == ndim > 1
    if not plain or any(p.type.ndim != ndim for p in at):
        return None
    free = [d for d in range(ndim) if not is_range(at[d], lengths[d], d, ndim)]
    return free[0] if len(free) == 1 and at[free[0]].type.dtype == "int64" else None


def _general(node: Apply) -> General:
    """Return the function of the node's own rule, made when it is needed."""

    def run(*args: Any) -> tuple[Flag, torch.Tensor]:
        lowered: Any = TORCH.rule(node)(node.op, node)
        result: tuple[Flag, torch.Tensor] = lowered.run(*args)
        return result

    return run


def _with_ranges(at: torch.Tensor, axis: int, lengths: Sequence[int]) -> list[torch.Tensor]:
    """Return positions along all axes."""
    ndim = len(lengths)
    return [
        at if d == axis else torch.arange(n, device=at.device).view([-1 if i == d else 1 for i in range(ndim)])
        for d, n in enumerate(lengths)
    ]


def _is_for_all(at: torch.Tensor, axis: int, lengths: Sequence[int]) -> bool:
    """Whether there are positions for each place along the other axes, and may be looked at."""
    others = zip(at.shape, lengths, strict=True)
    return can_look(at) and all(d == axis or m == n for d, (m, n) in enumerate(others))


def _gathered(general: General, axis: int, x: torch.Tensor, at: torch.Tensor) -> tuple[Flag, torch.Tensor]:
    if _is_for_all(at, axis, x.shape):
        try:
            return None, torch.gather(x, axis, at)
        except (RuntimeError, IndexError):
            pass  # a position counts from the end, or is out of bounds
    result: tuple[Flag, torch.Tensor] = general(x, *_with_ranges(at, axis, x.shape))
    return result


def _scattered(
    general: General, axis: int, set_: bool, dtype: torch.dtype, values: torch.Tensor, at: torch.Tensor, *lengths: int
) -> tuple[Flag, torch.Tensor]:
    zeros = torch.zeros(lengths, dtype=dtype, device=at.device)
    # Several values for one place are set in any order.
    if values.dtype == dtype and _is_for_all(at, axis, lengths) and (not set_ or at.shape[axis] == 1):
        try:
            spread = values.expand(at.shape)
            return None, zeros.scatter_(axis, at, spread) if set_ else zeros.scatter_add_(axis, at, spread)
        except (RuntimeError, IndexError):
            zeros = torch.zeros_like(zeros)  # as above; some of them may have been written
    result: tuple[Flag, torch.Tensor] = general(zeros, values, *_with_ranges(at, axis, lengths))
    return result
