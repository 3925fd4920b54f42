"""Elementwise functions, single or fused: one loop over the elements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treadle.graph import Constant, Variable
from treadle.link.numba.dtypes import STORAGES, converted
from treadle.link.numba.scalars import can_fail, step_text, takes
from treadle.link.numba.status import VALUE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.unit import ON_VECTORS
from treadle.link.numba.text.values import ArrayValue, ScalarValue, Value
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import Composite, DimShuffle, Elemwise, TensorNode, TensorVariable

# These test whether their first operand is NaN: constants are moved there, so that the test happens before a loop.
_EXTREMES = frozenset({"maximum", "minimum"})


def body_of(
    composite: Composite, operands: list[tuple[str, str]], constants: Sequence[Variable] = (), *, many: bool = True
) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the statements of a composite, the expressions of its outputs, and the type codes of names.

    `operands` are expressions with their dtypes. `constants`, if passed, are their variables, which show what is a
    constant. With `many`, the statements are a loop's.
    """
    lines: list[str] = []
    codes: dict[str, str] = {}

    def named(text: str, dtype: str) -> str:
        # A name may be repeated at no cost.
        if text.isidentifier():
            return text
        name = f"t{len(codes)}"
        codes[name] = STORAGES[dtype].code
        lines.append(f"{name} = {text}")
        return name

    values = [
        (named(converted(text, dtype, target), target), target)
        for (text, dtype), target in zip(operands, composite.dtypes, strict=True)
    ]
    numbers = [v.data if isinstance(v, Constant) else 0 for v in constants] or [0] * len(values)
    numbers += [number for number, _ in composite.constants]
    values += [(_literal(number, dtype), dtype) for number, dtype in composite.constants]
    for step in composite.steps:
        pairs = list(zip(step.args, step.loops, strict=True))
        if step.scalar_op.name in _EXTREMES and pairs[1][0] < len(numbers) and _decides(numbers[pairs[1][0]]):
            pairs.reverse()
        step_operands = [(named(converted(*values[i], loop), loop), loop) for i, loop in pairs]
        if can_fail(step):
            lines += [f"if {step_operands[1][0]} < 0:", f"    bad = {VALUE}"]
        text = step_text(step, step_operands, many=many)
        values.append((named(text, step.out), step.out))
    return lines, [values[i][0] for i in composite.outputs], codes


def _decides(number: complex | np.ndarray) -> bool:
    """Whether the order of operands does not matter for a number, as it does for 0 and NaN."""
    return bool(number == number and number != 0)


def _literal(number: complex, dtype: str) -> str:
    """Return a constant as Python text."""
    value = np.asarray(number, dtype).item()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, complex):
        real = STORAGES[dtype].real
        parts = (_literal(part, "float64" if real == "f8" else "float32") for part in (value.real, value.imag))
        return f"compose_{real}({', '.join(parts)})"
    code = STORAGES[dtype].code
    return f"{code}({'INF - INF' if value != value else repr(value).replace('inf', 'INF')})"


@TABLE.register(Elemwise)
def lower_elemwise(op: Elemwise, node: TensorNode, writer: GraphWriter) -> None:
    """Write a loop over all elements, or plain statements for scalars."""
    composite = op.expanded(node, takes)
    checks = any(map(can_fail, composite.steps))
    kind = node.outputs[0].type
    if kind.ndim == 0:
        _lower_scalars(composite, node, writer, checks)
        return
    order = _order_of_larger(node)
    lines, results, operands = elements_of(writer, composite, node, order)
    body = [*lines, *(f"o{i}_x = {text}" for i, text in enumerate(results))]
    arrays = [x for x in operands if isinstance(x, ArrayValue)]
    inputs = [(f"x{i}", x) for i, x in enumerate(operands)]
    if order and _has_vectors(lines):
        # What is smaller is transposed.
        computed = writer.allocate(arrays[0].dims, writer.storage(node.outputs[0]))
        writer.run_elementwise(_stem(op), inputs, [("o0", computed)], body, checks=checks)
        transposed = _permuted(computed, order)
        writer.copy_into(writer.new_output(node.outputs[0], transposed.dims), transposed)
        return
    dims = writer.broadcast_dims([x.dims for x in arrays], kind.shape) if arrays else ("1",) * kind.ndim
    outputs = [(f"o{i}", writer.new_output(v, dims)) for i, v in enumerate(node.outputs)]
    writer.run_elementwise(_stem(op), inputs, outputs, body, checks=checks)


def elements_of(
    writer: GraphWriter, composite: Composite, node: TensorNode, order: Sequence[int] = (), packs: bool = True
) -> tuple[list[str], list[str], list[Value]]:
    """Return the statements of a composite and the expressions of its outputs, over ``x0_x`` and so on; and operands.

    A transposed operand, as an argument may be, is copied where functions are computed on vectors, which elements that
    lie apart prevent, if it `packs`; with its `order`, it is returned as it was before it was transposed.
    """
    elements = [(f"x{i}_x", writer.storage(v).dtype) for i, v in enumerate(node.inputs)]
    lines, results, _ = body_of(composite, elements)
    operands = [as_operand(writer, v) for v in node.inputs]
    for i, (v, value) in enumerate(zip(node.inputs, operands, strict=True)):
        if packs and _has_vectors(lines) and isinstance(value, ArrayValue) and _is_transposed(v):
            back = [order.index(d) for d in range(len(order))]
            operands[i] = _permuted(value, back) if order else writer.packed(value)
    return lines, results, operands


def _has_vectors(lines: Sequence[str]) -> bool:
    """Whether statements call functions that are computed on vectors."""
    return any(mark in line for line in lines for mark in ON_VECTORS)


def _order_of_larger(node: TensorNode) -> Sequence[int]:
    """Return how the one array among the operands was transposed, if the one result has smaller elements."""
    arrays = [v for v in node.inputs if any(n != 1 for n in v.type.shape)]
    if len(arrays) != 1 or len(node.outputs) != 1 or arrays[0].owner is None or not _is_transposed(arrays[0]):
        return ()
    size, result = (v.type.numpy_dtype.itemsize for v in (arrays[0], node.outputs[0]))
    order = arrays[0].owner.op.order  # type: ignore[attr-defined]  # a DimShuffle
    kept = [d for d in order if isinstance(d, int)]
    return [sorted(kept).index(d) for d in kept] if result < size and len(kept) == len(order) else ()


def _permuted(value: ArrayValue, order: Sequence[int]) -> ArrayValue:
    """Return an array with its dimensions in another order."""
    dims, strides = (tuple(words[d] for d in order) for words in (value.dims, value.strides))
    return replace(value, dims=dims, strides=strides, packed=False)


def as_operand(writer: GraphWriter, var: TensorVariable) -> Value:
    """Return an operand; an array that has one element by its type becomes a scalar, which is read before the loop."""
    value = writer.numbers.get(var) or writer.value(var)
    if isinstance(value, ArrayValue) and all(n == "1" for n in value.dims):
        text = writer.let(value.storage.first(value.address), code=value.storage.code)
        return ScalarValue(text, value.storage)
    return value


def _is_transposed(var: TensorVariable) -> bool:
    """Whether another dimension than the last one of a tensor is made the last, or may be, as in arguments."""
    if var.owner is None:
        return var.type.ndim > 1 and not isinstance(var, Constant)
    op = var.owner.op
    kept = [d for d in op.order if isinstance(d, int)] if isinstance(op, DimShuffle) else []
    return isinstance(op, DimShuffle) and bool(kept) and kept[-1] == op.order[-1] != max(kept)


def _stem(op: Elemwise) -> str:
    return "fused" if isinstance(op.scalar_op, Composite) else op.scalar_op.name


def _lower_scalars(composite: Composite, node: TensorNode, writer: GraphWriter, checks: bool) -> None:
    numbers = []
    for v in node.inputs:
        storage = writer.storage(v)
        text = writer.scalar(v)
        if not text.isidentifier():
            text = writer.let(f"{storage.code}({text})", code=storage.code)
        numbers.append((text, storage.dtype))
    lines, results, codes = body_of(composite, numbers, node.inputs, many=False)
    renamed = {name: writer.name(code=code) for name, code in codes.items()}
    if checks:
        renamed["bad"] = writer.name("bad")
        writer.add(f"{renamed['bad']} = 0")
    writer.add(*(_renamed(line, renamed) for line in lines))
    if checks:
        writer.stop_if(f"{renamed['bad']} != 0", VALUE)
    for v, text in zip(node.outputs, results, strict=True):
        writer.bind_scalar(v, renamed.get(text, text))


def _renamed(line: str, names: dict[str, str]) -> str:
    return re.sub(r"[A-Za-z_][A-Za-z_0-9]*", lambda m: names.get(m.group(), m.group()), line)
