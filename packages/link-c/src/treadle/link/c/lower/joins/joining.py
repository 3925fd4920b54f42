"""Joins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.lower.elementwise.elemwise import cast_to
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import Join, TensorNode


@TABLE.register(Join)
def join(op: Join, node: TensorNode, unit: Unit) -> None:
    """Write copies of the parts, one after another; parts that are joins themselves are written in place."""
    kind = node.outputs[0].type.dtype
    rank, size = node.outputs[0].type.ndim, CTYPES[kind].size
    if all(x.type.dtype == kind for x in node.inputs) and unit.postpone(node, Join):
        o, places = unit.slot(node.outputs[0]), unit.table("int", [unit.slot(x) for x in node.inputs])
        unit.call(f"tr_join_lengths(v, {places}, {len(node.inputs)}, v + {o}, {rank}, {op.axis})")
        return
    parts = [cast_to(unit, x, kind) for x in node.inputs]
    o, places = unit.owns(node.outputs[0]), unit.table("int", parts)
    if not any(x.owner in unit.postponed for x in node.inputs):
        unit.call(f"tr_join(v, {places}, {len(parts)}, v + {o}, {rank}, {op.axis}, {size}, tr_move{size})")
        return
    unit.call(f"tr_join_lengths(v, {places}, {len(parts)}, v + {o}, {rank}, {op.axis})")
    unit.call(f"tr_alloc(v + {o}, {rank}, {size})")
    _write_parts(unit, node, parts, f"v[{o}]", 0)


def _write_parts(unit: Unit, node: TensorNode, parts: Sequence[int], target: str, depth: int) -> None:
    """Write copies of the parts of a join to the beginning of a target, which moves on with each part."""
    out, axis, to = node.outputs[0], cast("Join", node.op).axis, f"to{depth}"
    unit.line(f"{{ tr_var {to} = {target};")
    for x, at in zip(node.inputs, parts, strict=True):
        if x.owner in unit.postponed:
            _write_parts(unit, x.owner, [unit.slot(y) for y in x.owner.inputs], to, depth + 1)
            unit.line(f"{to}.p += v[{at}].n[{axis}] * {to}.s[{axis}];")
        else:
            size = CTYPES[out.type.dtype].size
            unit.call(f"tr_join_part(&{to}, v + {at}, {out.type.ndim}, {axis}, {size}, tr_move{size})")
    unit.line("}")
