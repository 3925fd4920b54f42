"""Nodes that only arrange elements, computed in one go: reversed slices, triangles, rotations, joins of joins.

PyTorch goes through a tensor once for them. By their own rules a reversed slice is copied once more where it is a
result, a triangle is a choice by two ranges, and what is joined along two dimensions is written twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import torch

from treadle.graph import Apply, Constant, FunctionGraph, Variable
from treadle.link.torch.looking import can_look
from treadle.link.torch.parts import Entry, part, whole_backwards
from treadle.link.torch.programs.storage import is_native
from treadle.tensor import (
    ARange,
    ArgSort,
    At,
    DimShuffle,
    Elemwise,
    Join,
    ShapeI,
    Sort,
    Span,
    Subtensor,
    Symbolic,
    TensorVariable,
)
from treadle.tensor import tensors as tensors_of

# The function, the tensors that it takes, and the Python integers.
Arranged: TypeAlias = tuple[Callable[..., torch.Tensor], Sequence[Variable], Sequence[Variable]]
# An axis and what is joined along it: positions of tensors, and joins.
Nest: TypeAlias = "tuple[int, tuple[int | Nest, ...]]"
# Fewer elements are joined in less time by the library's calls than part by part.
_FEW = 1 << 14
# Where so many times as many elements are there as are asked for, they are found in less time than all are sorted.
_SOME = 16
_WITH_ENDS = ("float32", "float64", "int32", "int64")
# The largest offset of a diagonal: more than any tensor is long.
_LARGEST = 1 << 48


def reversed_copy(node: Apply) -> Arranged | None:
    """Return the copy of a part that runs backwards along some dimensions, in the memory that reversing takes."""
    picked = node.inputs[0].owner
    if picked is None or not isinstance(picked.op, Subtensor):
        return None
    entries = picked.op.entries
    if any(isinstance(e, At) and isinstance(e.value, Symbolic) for e in entries):
        return None
    if not any(isinstance(e, Span) and isinstance(e.step, int) and e.step < 0 for e in entries):
        return None
    backwards = whole_backwards(entries)
    read = partial(torch.flip, dims=backwards) if backwards else partial(_part_of_its_own, entries)
    return read, picked.inputs[:1], picked.inputs[1:]


def _part_of_its_own(entries: Sequence[Entry], x: torch.Tensor, *bounds: int) -> torch.Tensor:
    picked = part(x, entries, 0, bounds)
    return picked.view.flip(picked.reversed) if picked.reversed else picked.view.clone()


def rotation(node: Apply) -> Arranged | None:
    """Return the join of a tensor's end and its start as one rotation."""
    parts = [v.owner for v in node.inputs]
    if not isinstance(node.op, Join) or len(parts) != 2:
        return None
    axis = node.op.axis
    first, second = parts
    if first is None or second is None or not (isinstance(first.op, Subtensor) and isinstance(second.op, Subtensor)):
        return None
    ends = (_only_entry(first.op, axis), _only_entry(second.op, axis))
    given, x = first.inputs[1:], first.inputs[0]
    if ends[0] is None or ends[1] is None or second.inputs[0] is not x or (*second.inputs[1:],) != (*given,):
        return None
    start, stop = ends[0].start, ends[1].stop
    if ends != (Span(start, None, None), Span(None, stop, None)):
        return None
    if not isinstance(start, Symbolic):
        return (partial(_rotated, axis, at=start), (x,), ()) if start == stop and isinstance(start, int) else None
    return (partial(_rotated, axis), (x,), given) if isinstance(stop, Symbolic) and len(given) == 1 else None


def _only_entry(op: Subtensor, axis: int) -> Span | None:
    """Return the slice along an axis where all others take everything."""
    entries = op.entries
    others = (e for d, e in enumerate(entries) if d != axis)
    entry = entries[axis]
    return entry if isinstance(entry, Span) and all(e == Span(None, None, None) for e in others) else None


def _rotated(axis: int, x: torch.Tensor, at: int) -> torch.Tensor:
    n = x.shape[axis]
    if can_look(x) and -n <= at <= n:
        return torch.roll(x, -at, axis)
    start = (slice(None),) * axis
    return torch.cat([x[(*start, slice(at, None))], x[(*start, slice(None, at))]], axis)


def end_of_order(fgraph: FunctionGraph, node: Apply) -> Arranged | None:
    """Return a few of the smallest or largest elements, in order, or their positions, without sorting all."""
    (ordered,) = tensors_of(node.inputs[:1])
    order = ordered.owner
    if order is None or not isinstance(order.op, Sort | ArgSort) or not isinstance(node.op, Subtensor):
        return None
    (x,) = tensors_of(order.inputs)
    entry = _only_entry(node.op, order.op.axis)
    if (
        entry is None
        or x.type.dtype not in {"float64", "float32", "int64", "int32"}
        or len(fgraph.clients[ordered]) != 1
    ):
        return None
    axis, positions = order.op.axis, isinstance(order.op, ArgSort)
    # How many at the end, whether of the largest, and whether these come first.
    match (entry.start, entry.stop, entry.step):
        case (None | 0, int(stop), None | 1) if stop > 0:
            found = (stop, False, False)
        case (int(start), None, None | 1) if start < 0:
            found = (-start, True, False)
        case (None | -1, int(stop), -1) if stop < -1:
            found = (-stop - 1, True, True)
        case _:
            return None
    count, largest, backwards = found
    part_of_all = (*(slice(None),) * axis, slice(entry.start, entry.stop, None if backwards else entry.step))

    def all_sorted(x: torch.Tensor) -> torch.Tensor:
        whole = torch.sort(x, dim=axis, stable=True)
        result = whole.indices if positions else whole.values
        if backwards:
            return result.flip(axis).narrow(axis, 0, min(count, x.shape[axis])).clone()
        return result[part_of_all].clone()

    def run(x: torch.Tensor) -> torch.Tensor:
        if not can_look(x) or x.shape[axis] < _SOME * count:
            return all_sorted(x)
        # One more, which tells whether the last one is the only one of its value.
        values, at = torch.topk(x, count + 1, dim=axis, largest=largest)
        if positions:
            near = values.narrow(axis, 1, count) == values.narrow(axis, 0, count)
            # Which of equal elements come first is known by sorting all; and no NaN equals another one.
            if near.any() or (x.is_floating_point() and values.isnan().any()):
                return all_sorted(x)
        result = (at if positions else values).narrow(axis, 0, count)
        return result.flip(axis) if largest and not backwards else result.clone()

    return run, (x,), ()


def triangle(out: TensorVariable) -> Arranged | None:
    """Return the choice of what is below or above a diagonal of matrices, with zeros elsewhere, as one call."""
    node = out.owner
    if node is None or not isinstance(node.op, Elemwise) or node.op.scalar_op.name != "switch" or out.type.ndim < 2:
        return None
    condition, first, second = tensors_of(node.inputs)
    compared = condition.owner
    if compared is None or not isinstance(compared.op, Elemwise):
        return None
    name = getattr(compared.op.scalar_op, "name", "")
    if name not in {"ge", "gt"}:
        return None
    x, zero = (first, second) if name == "ge" else (second, first)
    rows, columns = tensors_of(compared.inputs)
    rows, offset = _with_offset(rows)
    is_zero = isinstance(zero, Constant) and zero.data.size == 1 and not zero.data.any() and not _is_negative(zero)
    if not is_zero or x.type.ndim != out.type.ndim or x.type.dtype != out.type.dtype:
        return None
    ndim = out.type.ndim
    if not (_is_range(rows, x, ndim - 2) and _is_range(columns, x, ndim - 1)):
        return None
    # PyTorch adds the offset to positions, in int64.
    if offset is None or abs(offset) > _LARGEST:
        return None
    # Where row + offset >= column; or, for "gt", the rest of it: row + offset <= column.
    return partial(torch.tril if name == "ge" else torch.triu, diagonal=offset), (x,), ()


def _is_negative(zero: Constant) -> bool:
    return bool(math.copysign(1, float(zero.data.item().real)) < 0)


def _with_offset(rows: TensorVariable) -> tuple[TensorVariable, int | None]:
    """Return positions, and the constant integer that is added to them."""
    node = rows.owner
    if node is None or not isinstance(node.op, Elemwise):
        return rows, 0
    terms = tensors_of(node.inputs)
    if getattr(node.op.scalar_op, "name", "") != "add" or len(terms) != 2:
        return rows, None
    ranges, offset = terms if isinstance(terms[1], Constant) else terms[::-1]
    is_number = isinstance(offset, Constant) and offset.data.size == 1 and offset.type.dtype == "int64"
    return ranges, int(offset.data.item()) if isinstance(offset, Constant) and is_number else None


def _is_range(x: TensorVariable, matrix: TensorVariable, axis: int) -> bool:
    """Whether a tensor holds the positions along an axis of another, laid out along that axis."""
    return is_range(x, (matrix, axis), axis, matrix.type.ndim)


def is_range(x: TensorVariable, length: Variable | tuple[Variable, int], axis: int, ndim: int) -> bool:
    """Whether a tensor of a rank counts from zero to a length, that of a tensor's axis or a number, along an axis."""
    node = x.owner
    if node is None or node.op != DimShuffle(("x",) * axis + (0,) + ("x",) * (ndim - axis - 1), 1):
        return False
    made = node.inputs[0].owner
    if made is None or not isinstance(made.op, ARange) or made.op.dtype != "int64":
        return False
    start, stop, step = made.inputs
    if not all(isinstance(v, Constant) and v.data.item() == n for v, n in ((start, 0), (step, 1))):
        return False
    if not isinstance(length, tuple):
        return stop is length
    of, at = length
    return stop.owner is not None and stop.owner.op == ShapeI(at) and stop.owner.inputs[0] is of


def nested_join(fgraph: FunctionGraph, node: Apply) -> Arranged | None:
    """Return a join of tensors of which some are joins themselves, needed nowhere else."""
    leaves: list[Variable] = []
    dtype = tensors_of(node.outputs)[0].type.dtype

    def nest_of(inner: Apply) -> Nest:
        parts: list[int | Nest] = []
        for v in tensors_of(inner.inputs):
            made = v.owner if len(fgraph.clients[v]) == 1 else None
            if made is not None and isinstance(made.op, Join) and rotation(made) is None:
                parts.append(nest_of(made))
            else:
                parts.append(len(leaves))
                leaves.append(v)
        return inner.op.axis, tuple(parts)  # type: ignore[attr-defined]  # a join

    nest = nest_of(node)
    if all(isinstance(p, int) for p in nest[1]) or any(v.type.dtype != dtype for v in tensors_of(leaves)):
        return None
    return (partial(_joined, nest), leaves, ()) if is_native(dtype) else None


def _joined(nest: Nest, *leaves: torch.Tensor) -> torch.Tensor:
    if can_look(leaves[0]) and sum([x.numel() for x in leaves]) >= _FEW:
        out = leaves[0].new_empty(_shape(nest, leaves))
        _fill(out, nest, leaves)
        return out
    axis, parts = nest
    return torch.cat([leaves[p] if isinstance(p, int) else _joined(p, *leaves) for p in parts], axis)


def _shape(part: int | Nest, leaves: Sequence[torch.Tensor]) -> list[int]:
    if isinstance(part, int):
        return [*leaves[part].shape]
    axis, parts = part
    shapes = [_shape(p, leaves) for p in parts]
    whole = shapes[0][:]
    whole[axis] = sum([shape[axis] for shape in shapes])
    return whole


def _fill(out: torch.Tensor, part: int | Nest, leaves: Sequence[torch.Tensor]) -> None:
    """Write a part of the result; lengths that do not fit are those that a join refuses."""
    if isinstance(part, int):
        if leaves[part].shape != out.shape:
            msg = "tensors to be joined must have the same lengths along all other dimensions"
            raise ValueError(msg)
        out.copy_(leaves[part])
        return
    axis, parts = part
    at = 0
    for inner in parts:
        n = _shape(inner, leaves)[axis]
        _fill(out.narrow(axis, at, n), inner, leaves)
        at += n
