"""SumTo."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.lower.shapes.shape import with_lengths
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import SumTo, TensorNode


@TABLE.register(SumTo)
def sum_to(op: SumTo, node: TensorNode, unit: Unit) -> None:
    """Write the sum over the broadcast dimensions, or a view if there are none."""
    kind = ctype(node.inputs[0])
    # float16 is accumulated in float32, as in NumPy.
    reducer = f"tr_sum_{kind.short}_{kind.math}_{kind.short}"
    unit.call(f"tr_sum_to({with_lengths(unit, node)}, {kind.size}, &{reducer})")
