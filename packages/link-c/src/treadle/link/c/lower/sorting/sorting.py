"""Sorting."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import ArgSort, OrderStatistics, Sort, TensorNode


def _result(node: TensorNode, unit: Unit) -> tuple[int, int]:
    """Write the allocation of a result with the first input's lengths; return the positions of both."""
    (x, *_), (out,) = node.inputs, node.outputs
    source, o = unit.slot(x), unit.owns(out)
    unit.line(f"memcpy(v[{o}].n, v[{source}].n, sizeof v[{o}].n);")
    return source, o


@TABLE.register(Sort)
def sort(op: Sort, node: TensorNode, unit: Unit) -> None:
    """Write the call that sorts each line."""
    source, o = _result(node, unit)
    (x,) = node.inputs
    rank, kind = x.type.ndim, ctype(x)
    unit.call(f"tr_alloc(v + {o}, {rank}, {kind.size})")
    unit.call(f"tr_sort_{kind.short}(v + {source}, v + {o}, {rank}, {op.axis}, {unit.sorts()})")


@TABLE.register(ArgSort)
def argsort(op: ArgSort, node: TensorNode, unit: Unit) -> None:
    """Write the call that finds the positions that sort each line."""
    source, o = _result(node, unit)
    (x,) = node.inputs
    rank = x.type.ndim
    unit.call(f"tr_alloc(v + {o}, {rank}, 8)")
    unit.call(f"tr_argsort_{ctype(x).short}(v + {source}, v + {o}, {rank}, {op.axis})")


@TABLE.register(OrderStatistics)
def order_statistics(op: OrderStatistics, node: TensorNode, unit: Unit) -> None:
    """Write the call that finds the wanted elements of each sorted line."""
    source, o = _result(node, unit)
    x, positions = node.inputs
    at, rank, kind = unit.slot(positions), x.type.ndim, ctype(x)
    unit.line(f"v[{o}].n[{op.axis}] = v[{at}].n[0];")
    unit.call(f"tr_alloc(v + {o}, {rank}, {kind.size})")
    unit.call(f"tr_select_{kind.short}(v + {source}, v + {at}, v + {o}, {rank}, {op.axis})")
