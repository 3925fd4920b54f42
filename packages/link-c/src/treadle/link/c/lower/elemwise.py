"""Elementwise functions: one kernel, driven over the broadcast operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.dtypes import CTYPES, converted
from treadle.link.c.expression import Expression, Operation, expression
from treadle.link.c.kernel import Kernel
from treadle.link.c.table import TABLE
from treadle.link.c.unit import dtype, is_scalar, ndim
from treadle.tensor import Elemwise

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable
    from treadle.link.c.unit import Unit


@TABLE.register(Elemwise)
def elemwise(op: Elemwise, node: Apply, unit: Unit) -> None:
    """Write the kernel of the row, or of the composite, and its call."""
    whole = expression(op, node)
    scalars = frozenset(i for i, x in enumerate(node.inputs) if is_scalar(x))
    body = Kernel(whole, scalars).text()
    slots = [unit.slot(x) for x in node.inputs] + [unit.owns(x) for x in node.outputs]
    emit(unit, body, slots, len(node.inputs), ndim(node.outputs[0]), [dtype(x) for x in node.outputs])


def emit(unit: Unit, body: str, slots: list[int], nin: int, rank: int, outs: list[str]) -> None:
    """Write the call of a kernel."""
    unit.operands(len(slots))
    name = unit.kernel(body)
    places = unit.table("int", slots)
    sizes = unit.table("unsigned char", [CTYPES[d].size for d in outs])
    unit.call(f"tr_elemwise(v, {places}, {nin}, {len(outs)}, {rank}, {sizes}, {name})")


def cast_to(unit: Unit, var: Variable, wanted: str) -> int:
    """Return the position of a variable's values in a dtype: its own, or a scratch array's."""
    own = dtype(var)
    if own == wanted:
        return unit.slot(var)
    source, target = unit.slot(var), unit.scratch()
    emit(unit, cast_body(own, wanted, is_scalar(var)), [source, target], 1, ndim(var), [wanted])
    return target


def cast_body(source: str, target: str, scalar: bool = False) -> str:
    """Return the body of the kernel that converts from one dtype to another."""
    operation = Operation((0,), target, converted(source, target, "{0}"))
    return Kernel(Expression((source,), (operation,), (1,)), frozenset({0}) if scalar else frozenset()).text()
