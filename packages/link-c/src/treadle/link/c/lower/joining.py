"""Join and ARange."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.dtypes import CTYPES, converted, loaded, stored
from treadle.link.c.lower.elemwise import cast_to
from treadle.link.c.table import TABLE
from treadle.tensor import ARange, Join

if TYPE_CHECKING:
    from treadle.link.c.unit import Unit
    from treadle.tensor import TensorNode


@TABLE.register(Join)
def join(op: Join, node: TensorNode, unit: Unit) -> None:
    """Write copies of the parts, one after another."""
    kind = node.outputs[0].type.dtype
    rank, size = node.outputs[0].type.ndim, CTYPES[kind].size
    parts = [cast_to(unit, x, kind) for x in node.inputs]
    o = unit.owns(node.outputs[0])
    places = unit.table("int", parts)
    unit.call(f"tr_join(v, {places}, {len(parts)}, v + {o}, {rank}, {op.axis}, {size}, tr_move{size})")


@TABLE.register(ARange)
def arange(op: ARange, node: TensorNode, unit: Unit) -> None:
    """Write the numbers: the first, then the first plus multiples of the second less the first."""
    o = unit.owns(node.outputs[0])
    ctype = CTYPES[op.dtype]
    unit.line("{")
    kinds = [x.type.dtype for x in node.inputs]
    for name, x in zip(("start", "stop", "step"), node.inputs, strict=True):
        kind = x.type.dtype
        value = loaded(kind, f"*(const {CTYPES[kind].stored} *)v[{unit.slot(x)}].p")
        unit.line(f"const {CTYPES[kind].computed} {name} = {value};")
        unit.line(f"const {ctype.computed} {name}_ = {converted(kind, op.dtype, name)};")
    whole = all(CTYPES[k].kind in "iub" for k in kinds)
    if whole:
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
