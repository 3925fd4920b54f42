"""Numbers of a product or a sum are gathered before anything is computed with them: where that is asked for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, mul, sub, true_div
from treadle.tensor.elementwise.exponential import reciprocal
from treadle.tensor.products.product import MatMul
from treadle.tensor.rewrites.analysis.predicates import applies, constant_value, kind_of
from treadle.tensor.rewrites.analysis.replacements import cast_like
from treadle.tensor.shapes.dimshuffle import DimShuffle, shape_padleft
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("gathered_numbers")


@RULES.rule(
    (Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE), add, sub, mul, true_div, tags=("wide_numbers",), depth=6,
    differs="where arithmetic of the numbers is rounded or wraps around in their dtype", is_opt_in=True,
    needs_graph=True,
)  # fmt: skip
def numbers_in_dtype_of_result(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x * (c * d)) -> x * e, for numbers of shorter dtypes than x; only where ``wide_numbers`` is asked for.

    Likewise for x + (c + d), for differences, quotients and reciprocals of numbers: PyTensor gathers the numbers of a
    product or a sum before it computes with them. It does not get to those of a product that another product reads by
    way of a view, or of a product of matrices with one column: they are computed as they are written.
    """
    out = node.outputs[0]
    functions = (mul, true_div, reciprocal) if node.op in {mul, true_div} else (add, sub)
    if kind_of(out) not in "fi" or _is_late(fgraph, out, functions):
        return None
    for at, operand in enumerate(node.inputs):
        below = operand
        while below.owner is not None and isinstance(below.owner.op, DimShuffle):
            below = below.owner.inputs[0]
        if below.owner is None or below.dtype in {out.dtype, "bool"}:
            continue
        number = _number(below, functions)
        if number is None or (kind_of(out) == "i" and (number.denominator != 1 or abs(number) >= 1 << 63)):
            continue
        others = [x_ for i, x_ in enumerate(node.inputs) if i != at]
        inverse = len(others) == 1 and number and Fraction(float(number)) != number and node.op in {mul, true_div}
        if inverse and (at or node.op == mul) and Fraction(float(1 / number)) == 1 / number:
            divisor = _like(operand, float(1 / number), out)
            return cast_like(out, (mul if node.op == true_div else true_div)(others[0], divisor))
        value = _like(operand, float(number) if kind_of(out) == "f" else int(number), out)
        return cast_like(out, node.op(*(value if i == at else x_ for i, x_ in enumerate(node.inputs))))
    return None


def _is_late(fgraph: FunctionGraph, var: Variable, functions: Sequence[Elemwise], is_seen: bool = True) -> bool:
    """Whether one of the functions reads a variable through views or products of matrices with one column."""
    for reader, _ in fgraph.get_clients(var):
        if not is_seen and (reader.op in functions or _is_outer(reader)):
            return True
        if (reader.op.view_map or _is_outer(reader)) and _is_late(fgraph, reader.outputs[0], functions, is_seen=False):
            return True
    return False


def _is_outer(node: Apply) -> bool:
    """Whether a node multiplies a column by a row: as matrices, or elementwise, which is what becomes of that."""
    if node.op != mul and not isinstance(node.op, MatMul):
        return False
    shapes = [x.type.shape[-2:] for x in tensors(node.inputs)]
    if isinstance(node.op, MatMul):
        return len(shapes[0]) == 2 and shapes[0][1] == 1
    columns, rows = ([len(shape) == 2 and shape[at] == 1 != shape[1 - at] for shape in shapes] for at in (1, 0))
    return any(columns) and any(rows)


def _like(operand: TensorVariable, value: float, out: TensorVariable) -> TensorVariable:
    """Return a number in the dtype of a result and in the rank of one of its operands."""
    return shape_padleft(constant(value, dtype=out.dtype), operand.type.ndim)


def _number(var: TensorVariable, functions: Sequence[Elemwise]) -> Fraction | None:
    """Return what some functions of finite numbers come to without rounding, or None."""
    value = constant_value(var)
    if value is not None:
        return Fraction(value) if isinstance(value, int | float) and math.isfinite(value) else None
    node = var.owner
    if node is None or not applies(node, *functions):
        return None
    parts = [_number(x_, functions) for x_ in node.inputs]
    numbers = [part for part in parts if part is not None]
    if len(numbers) < len(parts):
        return None
    if node.op in {add, mul}:
        return sum(numbers, Fraction(0)) if node.op == add else math.prod(numbers, start=Fraction(1))
    if node.op == sub:
        return numbers[0] - numbers[1]
    divisor = numbers[-1]
    return None if divisor == 0 else (1 / divisor if len(numbers) == 1 else numbers[0] / divisor)
