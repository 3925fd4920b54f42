"""Alloc and SumTo."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import CTYPES, ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import Alloc, SumTo, TensorNode


@TABLE.register(Alloc)
def alloc(op: Alloc, node: TensorNode, unit: Unit) -> None:
    """Write a new array and fill it with the value, broadcast."""
    x, *lengths = node.inputs
    size = ctype(x).size
    source, o = unit.slot(x), unit.owns(node.outputs[0])
    for d, n in enumerate(lengths):
        unit.line(f"v[{o}].n[{d}] = {unit.integer(n)};")
        unit.call(f"v[{o}].n[{d}] < 0 ? TR_LENGTH : 0")
    rank = len(lengths)
    unit.call(f"tr_alloc(v + {o}, {rank}, {size})")
    unit.call(f"tr_transfer(v + {o}, {rank}, v + {source}, {x.type.ndim}, tr_move{size})")


@TABLE.register(SumTo)
def sum_to(op: SumTo, node: TensorNode, unit: Unit) -> None:
    """Write the sum over the broadcast dimensions, or a view if there are none."""
    x, *lengths = node.inputs
    kind = x.type.dtype
    short = CTYPES[kind].short
    # float16 is accumulated in float32, as in NumPy.
    reducer = f"tr_sum_{short}_{CTYPES[kind].math}_{short}"
    source = unit.slot(x)
    unit.owns(node.outputs[0])
    o = unit.views(node.outputs[0], x)
    for d, n in enumerate(lengths):
        unit.line(f"v[{o}].n[{d}] = {unit.integer(n)};")
    size = CTYPES[kind].size
    unit.call(f"tr_sum_to(v + {o}, {len(lengths)}, v + {source}, {x.type.ndim}, {size}, &{reducer})")
