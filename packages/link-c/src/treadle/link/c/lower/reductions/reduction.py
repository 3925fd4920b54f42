"""Reductions."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.c.conventions.dtypes import CTYPES, ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import ArgReduction, Reduction, TensorNode


def axes_mask(axes: Sequence[int]) -> str:
    """Return the axes as a C bit mask."""
    return f"UINT64_C({sum(1 << d for d in axes)})"


def reducer_name(op: Reduction, source: str) -> str:
    """Return the name of the reducer for elements of a dtype."""
    # NumPy accumulates float16 in float32.
    acc = "float32" if op.acc_dtype == "float16" else op.acc_dtype
    return f"tr_{op.kind}_{CTYPES[source].short}_{CTYPES[acc].short}_{CTYPES[op.dtype].short}"


@TABLE.register(Reduction)
def reduction(op: Reduction, node: TensorNode, unit: Unit) -> None:
    """Write the reduction."""
    (x,) = node.inputs
    rank, mask = x.type.ndim, axes_mask(op.axes)
    name = reducer_name(op, x.type.dtype)
    source, o = unit.slot(x), unit.owns(node.outputs[0])
    unit.line(f"tr_keep(v + {source}, {rank}, {mask}, v + {o});")
    unit.call(f"tr_alloc(v + {o}, {node.outputs[0].type.ndim}, {CTYPES[op.dtype].size})")
    unit.call(f"tr_reduce(v + {source}, {rank}, {mask}, v + {o}, &{name})")


@TABLE.register(ArgReduction)
def arg_reduction(op: ArgReduction, node: TensorNode, unit: Unit) -> None:
    """Write the call that finds the positions of extrema."""
    (x,) = node.inputs
    rank, mask = x.type.ndim, axes_mask(op.axes)
    source, o = unit.slot(x), unit.owns(node.outputs[0])
    unit.line(f"tr_keep(v + {source}, {rank}, {mask}, v + {o});")
    unit.call(f"tr_alloc(v + {o}, {node.outputs[0].type.ndim}, 8)")
    unit.call(f"tr_{op.kind}_{ctype(x).short}(v + {source}, {rank}, {mask}, v + {o})")
