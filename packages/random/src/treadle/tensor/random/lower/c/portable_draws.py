"""Draws of the portable generator, by vectorized kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.tensor import PortableDraws

if TYPE_CHECKING:
    from treadle.link.c.text.unit import Unit
    from treadle.tensor import TensorNode


@TABLE.register(PortableDraws)
def portable_draws(op: PortableDraws, node: TensorNode, unit: Unit) -> None:
    """Write the lengths of the result, and the call of the kernel of the sampler."""
    state, lengths, parameters = op.parts(node.inputs)
    kind, origin, o = ctype(node.outputs[0]), unit.slot(state), unit.owns(node.outputs[0])
    for d, n in enumerate(lengths):
        unit.line(f"v[{o}].n[{d}] = {unit.integer(n)};")
        unit.call(f"v[{o}].n[{d}] < 0 ? TR_LENGTH : 0")
    unit.call(f"tr_alloc(v + {o}, {op.ndim}, {kind.size})")
    parameter_table = unit.table("int", [number for p in parameters for number in (unit.slot(p), p.type.ndim)] or [0])
    unit.ask_operands(len(parameters))
    kernel = f"tr_draw_{op.sampler}_{kind.short}"
    unit.call(f"tr_draw(v, {o}, {op.ndim}, {kind.size}, {origin}, {parameter_table}, {len(parameters)}, {kernel})")
