"""Reductions."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.c.conventions.dtypes import CTYPES, ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import Reduction, TensorNode


def axes_mask(axes: Sequence[int]) -> str:
    """Return the axes as a C bit mask."""
    return f"UINT64_C({sum(1 << d for d in axes)})"


def reducer_name(op: Reduction, source: str) -> str:
    """Return the name of the reducer for elements of a dtype."""
    # NumPy accumulates float16 in float32.
    acc = "float32" if op.acc_dtype == "float16" else op.acc_dtype
    return f"tr_{op.kind}_{CTYPES[source].short}_{CTYPES[acc].short}_{CTYPES[op.dtype].short}"


def kept(unit: Unit, node: TensorNode, axes: Sequence[int], *, keeps_all: bool = False) -> str:
    """Write the lengths that a result keeps, and its allocation; return the arguments of what computes it."""
    (x,), (out,) = node.inputs, node.outputs
    source, o = unit.slot(x), unit.owns(out)
    arguments = f"v + {source}, {x.type.ndim}, {axes_mask(axes)}, v + {o}"
    unit.line(f"memcpy(v[{o}].n, v[{source}].n, sizeof v[{o}].n);" if keeps_all else f"tr_keep({arguments});")
    unit.call(f"tr_alloc(v + {o}, {out.type.ndim}, {ctype(out).size})")
    return arguments


@TABLE.register(Reduction)
def reduction(op: Reduction, node: TensorNode, unit: Unit) -> None:
    """Write the reduction."""
    unit.call(f"tr_reduce({kept(unit, node, op.axes)}, &{reducer_name(op, node.inputs[0].type.dtype)})")
