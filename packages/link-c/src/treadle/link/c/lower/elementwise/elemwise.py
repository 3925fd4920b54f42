"""Elementwise functions: one kernel, which is called for runs of the broadcast operands."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.c.conventions.dtypes import CTYPES, converted, ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.expression import Expression, Operation, expression
from treadle.link.c.text.kernel import Kernel
from treadle.link.c.text.unit import Unit
from treadle.tensor import Elemwise, TensorNode, TensorVariable


@TABLE.register(Elemwise)
def elemwise(op: Elemwise, node: TensorNode, unit: Unit) -> None:
    """Write the kernel of the scalar op, or of the composite, and its call."""
    operations = expression(op, node)
    scalars = single_numbers(node)
    kernel = Kernel(operations, scalars)
    slots = [unit.slot(x) for x in node.inputs]
    free = overwritten(node, kernel, unit)
    slots += [unit.owns(x) for x in node.outputs]
    sizes = [ctype(x).size for x in (*node.inputs, *node.outputs)]
    _emit(unit, kernel, slots, len(node.inputs), node.outputs[0].type.ndim, sizes, free)


def single_numbers(node: TensorNode) -> frozenset[int]:
    """Return which inputs are known to be single numbers, whatever their rank."""
    return frozenset(i for i, x in enumerate(node.inputs) if _is_single(x))


def _is_single(var: TensorVariable) -> bool:
    return all(n == 1 for n in var.type.shape)


def overwritten(node: TensorNode, kernel: Kernel, unit: Unit) -> list[int]:
    """Return, for each result, a mask of the operands whose block it may take over, since nothing else needs it."""
    dying = [i for i, x in enumerate(node.inputs[:64]) if i not in kernel.scalars and unit.dying(x, node.inputs)]
    masks = []
    for result, allowed in zip(node.outputs, kernel.may_overwrite(), strict=True):
        size = ctype(result).size
        fitting = [i for i in dying if i in allowed and ctype(node.inputs[i]).size == size]
        masks.append(sum(1 << i for i in fitting if node.inputs[i].type.ndim == result.type.ndim))
    return masks


def _emit(
    unit: Unit, kernel: Kernel, slots: Sequence[int], nin: int, rank: int, sizes: Sequence[int], free: Sequence[int]
) -> None:
    """Write a kernel and its call, with the sizes of elements of operands and results, and masks of `overwritten`."""
    unit.ask_operands(len(slots))
    name, places = unit.kernel(kernel.text() if rank else kernel.scalar_text()), unit.table("int", slots)
    begin = f"v, {places}, {nin}, {len(slots) - nin}"
    if rank == 0:
        unit.call(f"tr_scalars({begin}, {name})")
        return
    end = f"{unit.table('unsigned char', sizes)}, {free_table(unit, free)}, {name}"
    unit.call(f"tr_vectors({begin}, {end})" if rank == 1 else f"tr_elemwise({begin}, {rank}, {end})")


def free_table(unit: Unit, free: Sequence[int]) -> str:
    """Return the C name of the table of operands that results may overwrite, or 0 if there are none."""
    return unit.table("uint64_t", [f"UINT64_C({mask})" for mask in free]) if any(free) else "0"


def cast_to(unit: Unit, var: TensorVariable, dtype: str) -> int:
    """Return the position of a variable converted to a dtype: its own, or that of a scratch array."""
    own = var.type.dtype
    if own == dtype:
        return unit.slot(var)
    source, target = unit.slot(var), unit.scratch()
    operation = Operation((0,), dtype, converted(own, dtype, "{0}"))
    scalars = frozenset({0} if _is_single(var) else ())
    kernel = Kernel(Expression((own,), (operation,), (1,)), scalars)
    _emit(unit, kernel, [source, target], 1, var.type.ndim, [ctype(var).size, CTYPES[dtype].size], ())
    return target
