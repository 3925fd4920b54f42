"""SumTo."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import SumTo, TensorNode


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
