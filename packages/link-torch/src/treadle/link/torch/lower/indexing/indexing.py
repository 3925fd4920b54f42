"""Indexing, setting and adding: slices first, as views; then positions, brought to the front and kept in bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from treadle.link.torch.direct_indexing import changed, in_place, may_repeat_positions, reader
from treadle.link.torch.looking import can_look
from treadle.link.torch.parts import Entry, Part, part
from treadle.link.torch.programs.storage import wrapped
from treadle.link.torch.table import TORCH, Checked, Flag, Lowered
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Positions,
    Subtensor,
    TensorNode,
    gather_plan,
)


def _place(entries: Sequence[Entry], node: TensorNode, first: int) -> int:
    """Return where the dimensions of index arrays stand in the result."""
    if not any(isinstance(e, Positions) for e in entries):
        return 0
    return gather_plan(entries, [getattr(v.type, "ndim", 0) for v in node.inputs[first:]]).place


def _add(picked: Part, values: torch.Tensor) -> None:
    """Add values at the positions, repeated ones again and again.

    This is scatter_add along one axis. The shorter index_put(accumulate=True) is not to be trusted: compiled for
    several threads, values that lie transposed in memory are added at wrong places (PyTorch issue 191837).
    """
    view, positions = picked.view, picked.positions
    indexed, lengths = list(view.shape[: len(positions)]), list(view.shape[len(positions) :])
    flat = picked.flat_positions()
    count = flat.shape[0]
    index = flat.reshape([count, *(1 for _ in lengths)]).expand([count, *lengths])
    source = view.reshape([math.prod(indexed), *lengths])
    view.copy_(torch.scatter_add(source, 0, index, values.reshape([count, *lengths])).reshape([*indexed, *lengths]))


@TORCH.register(Subtensor, AdvancedSubtensor)
def subtensor(op: Subtensor | AdvancedSubtensor, node: TensorNode) -> Lowered:
    """Lower to views, and an index for tensors of positions; to PyTorch's own index where values are there."""
    entries = op.entries
    place = _place(entries, node, 1)
    read = reader(entries)

    def run(x: torch.Tensor, *parts: torch.Tensor | int) -> tuple[Flag, torch.Tensor]:
        if read is not None and can_look(x):
            try:
                return None, read(x, *parts)
            except Exception:  # noqa: BLE001 - whatever is wrong, it is found out below
                pass
        picked = part(x, entries, place, parts)
        return picked.bad, picked.read()

    return Checked(run)


@TORCH.register(IncSubtensor, AdvancedIncSubtensor)
def inc_subtensor(op: IncSubtensor | AdvancedIncSubtensor, node: TensorNode) -> Lowered:
    """Lower to writing into a view of a copy, or through index_put and scatter_add for tensors of positions."""
    out = node.outputs[0].type
    dtype = out.dtype
    entries, set_ = op.entries, op.set
    place = _place(entries, node, 2)
    # Additions of truth values are counted, and float16 is added up in float32.
    working = {"bool": torch.int64, "float16": torch.float32}.get(dtype) if not set_ else None
    form = in_place(entries, set_, dtype, place)
    at_rows = None if form is None else changed(entries, set_)
    may_repeat = node.inputs[1].type.ndim > 0 and may_repeat_positions(entries)

    def run(x: torch.Tensor, y: torch.Tensor, *parts: torch.Tensor | int) -> tuple[Flag, torch.Tensor]:
        if form is not None and can_look(x):
            try:
                new = None if at_rows is None else at_rows(x, y, *parts)
                if new is not None:
                    return None, new
            except Exception:  # noqa: BLE001 - it is looked at more closely below
                pass
            try:
                result = x.clone()
                form.change(result, y, *[int(p) if isinstance(p, int) or p.dim() == 0 else p for p in parts])()
            except Exception:  # noqa: BLE001 - as above
                pass
            else:
                return None, result
        result = x.clone() if working is None else x.to(working)
        picked = part(result, entries, place, parts)
        values = picked.laid_out(y if working is None else y.to(working))
        if picked.positions and set_:
            picked.view.index_put_(tuple(picked.positions), picked.with_last(values) if may_repeat else values)
        elif picked.positions:
            _add(picked, values)
        elif set_:
            picked.view.copy_(values)
        else:
            picked.view.add_(values)
        if dtype == "bool" and not set_:
            result = result != 0
        elif working is not None:
            result = result.to(torch.float16)
        return picked.bad, wrapped(result, dtype)

    return Checked(run, form)
