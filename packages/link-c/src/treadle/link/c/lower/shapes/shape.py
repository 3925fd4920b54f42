"""Shapes as values, and Reshape."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import Reshape, Shape, ShapeI, TensorNode


@TABLE.register(Shape)
def shape(op: Shape, node: TensorNode, unit: Unit) -> None:
    """Write all lengths into a vector."""
    x, o = unit.slot(node.inputs[0]), unit.owns(node.outputs[0])
    rank = node.inputs[0].type.ndim
    unit.line(f"v[{o}].n[0] = {rank};")
    unit.call(f"tr_alloc(v + {o}, 1, 8)")
    unit.line(f"for (int d = 0; d < {rank}; d++) ((int64_t *)v[{o}].p)[d] = v[{x}].n[d];")


@TABLE.register(ShapeI)
def shape_i(op: ShapeI, node: TensorNode, unit: Unit) -> None:
    """Write one length."""
    x, o = unit.slot(node.inputs[0]), unit.owns(node.outputs[0])
    unit.call(f"tr_alloc(v + {o}, 0, 8)")
    unit.line(f"*(int64_t *)v[{o}].p = v[{x}].n[{op.axis}];")


@TABLE.register(Reshape)
def reshape(op: Reshape, node: TensorNode, unit: Unit) -> None:
    """Write a view if the elements are contiguous in C order, otherwise a copy."""
    x, *lengths = node.inputs
    size = ctype(x).size
    source = unit.slot(x)
    unit.owns(node.outputs[0])
    o = unit.views(node.outputs[0], x)
    for d, n in enumerate(lengths):
        unit.line(f"v[{o}].n[{d}] = {unit.integer(n)};")
    unit.call(f"tr_reshape(v + {o}, {op.ndim}, v + {source}, {x.type.ndim}, {size}, tr_move{size})")
