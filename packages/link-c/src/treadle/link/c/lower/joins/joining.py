"""Join and ARange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from treadle.link.c.conventions.dtypes import CTYPES, converted, loaded, stored
from treadle.link.c.lower.elementwise.elemwise import cast_to
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import ARange, Join, TensorNode

# The rules take complex numbers too.
TAKES_COMPLEX = True


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
            unit.call(f"tr_join_part(&{to}, v + {at}, {out.type.ndim}, {axis}, tr_move{CTYPES[out.type.dtype].size})")
    unit.line("}")


@TABLE.register(ARange)
def arange(op: ARange, node: TensorNode, unit: Unit) -> None:
    """Write the numbers: the first one plus multiples of the difference of the first two, as NumPy computes them."""
    o = unit.owns(node.outputs[0])
    ctype = CTYPES[op.dtype]
    unit.line("{")
    kinds = [x.type.dtype for x in node.inputs]
    for name, x in zip(("start", "stop", "step"), node.inputs, strict=True):
        kind = x.type.dtype
        value = loaded(kind, f"*(const {CTYPES[kind].stored} *)v[{unit.slot(x)}].p")
        unit.line(f"const {CTYPES[kind].computed} {name} = {value};")
        unit.line(f"const {ctype.computed} {name}_ = {converted(kind, op.dtype, name)};")
    of_integers = all(CTYPES[k].kind in "iub" for k in kinds)
    if of_integers:
        unit.call(f"tr_range_whole(v + {o}, {', '.join(f'(int64_t){n}' for n in ('start', 'stop', 'step'))})")
    else:
        unit.call(f"tr_range(v + {o}, start, stop, step)")
    unit.call(f"tr_alloc(v + {o}, 1, {ctype.size})")
    value = f"start_ + ({ctype.computed})j * delta"
    second = converted(_wide(kinds), op.dtype, "start + step")
    unit.line(f"const {ctype.computed} delta = ({ctype.computed})({second}) - start_;")
    unit.line("(void)stop_; (void)step_;")
    unit.line(f"for (int64_t j = 0; j < v[{o}].n[0]; j++) (({ctype.stored} *)v[{o}].p)[j] = {stored(op.dtype, value)};")
    unit.line("}")


def _wide(kinds: list[str]) -> str:
    return "float64" if any(CTYPES[k].kind == "f" for k in kinds) else "int64"
