"""Draws of the portable generator, made on vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.tensor import PortableDraws

if TYPE_CHECKING:
    from treadle.link.c.unit import Unit
    from treadle.tensor import TensorNode


@TABLE.register(PortableDraws)
def portable_draws(op: PortableDraws, node: TensorNode, unit: Unit) -> None:
    """Write the draws."""
    state, lengths, _parameters = op.parts(node.inputs)
    kind, given, o = ctype(node.outputs[0]), unit.slot(state), unit.owns(node.outputs[0])
    for d, n in enumerate(lengths):
        unit.line(f"v[{o}].n[{d}] = {unit.integer(n)};")
        unit.call(f"v[{o}].n[{d}] < 0 ? TR_LENGTH : 0")
    unit.call(f"tr_alloc(v + {o}, {op.ndim}, {kind.size})")
    unit.call(f"tr_draw(v + {o}, {op.ndim}, {kind.size}, v + {given}, tr_draw_{op.sampler}_{kind.short})")
