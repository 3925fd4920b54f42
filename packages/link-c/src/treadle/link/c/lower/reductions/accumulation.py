"""Accumulations and linear recurrences."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import CTYPES, ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import Accumulation, LinearRecurrence, TensorNode

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(Accumulation)
def accumulation(op: Accumulation, node: TensorNode, unit: Unit) -> None:
    """Write one walk along the axis, whatever the strides."""
    (x,) = node.inputs
    kind, rank = CTYPES[op.dtype], x.type.ndim
    source, o = unit.slot(x), unit.owns(node.outputs[0])
    unit.line(f"memcpy(v[{o}].n, v[{source}].n, sizeof v[{o}].n);")
    unit.call(f"tr_alloc(v + {o}, {rank}, {kind.size})")
    unit.call(f"tr_scan_{op.kind}_{ctype(x).short}_{kind.short}(v + {source}, v + {o}, {rank}, {op.axis})")


@TABLE.register(LinearRecurrence)
def linear_recurrence(op: LinearRecurrence, node: TensorNode, unit: Unit) -> None:
    """Write one walk along the axis."""
    decay, x = (unit.slot(v) for v in node.inputs)
    kind, rank = ctype(node.inputs[1]), node.inputs[1].type.ndim
    o = unit.owns(node.outputs[0])
    unit.line(f"memcpy(v[{o}].n, v[{x}].n, sizeof v[{o}].n);")
    unit.call(f"tr_alloc(v + {o}, {rank}, {kind.size})")
    unit.call(f"tr_recur_{kind.short}(v + {decay}, v + {x}, v + {o}, {rank}, {op.axis})")
