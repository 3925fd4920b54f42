"""Accumulations and linear recurrences along an axis."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.numba.dtypes import STORAGES, Storage, converted
from treadle.link.numba.status import SHAPE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import Array, lengths, offset
from treadle.link.numba.text.reducing import combined
from treadle.link.numba.text.unit import Unit, indented, make_kernel
from treadle.link.numba.text.values import ArrayValue
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import Accumulation, LinearRecurrence, TensorNode

# The rules take complex numbers too.
TAKES_COMPLEX = True


def _joined(kind: str, acc: Storage, a: str, y: str) -> str:
    """Return the expression that combines the value so far with the next element."""
    if kind == "logaddexp":
        text = f"pick({a} == {y}, {a} + {acc.code}(0.6931471805599453), larger({a}, {y}) + "
        text += f"libm_log1p_{acc.code}(libm_exp_{acc.code}(-fabs({a} - {y}))))"
    elif kind == "prod" and acc.kind == "f":
        text = f"{a} * {y}"
    else:
        text = combined(kind, acc, a, y)
    return f"half_f4({text})" if acc.dtype == "float16" else text


def _kernel(stem: str, axis: int, arrays: Sequence[Array], next_: str) -> Unit:
    """Return the kernel that walks along an axis of the last but one array and writes the last one.

    `next_` combines ``before`` and ``y``, and ``k`` if there is an array of decays. If the axis is not the last one,
    whole rows of the last dimension are combined at once.
    """
    *decays, x, o = arrays
    ndim = len(o.still)
    last = ndim - 1
    inner = [] if axis == last else [last]
    source = x.storage
    element = converted(source.loaded(f"x[x_q + d{axis} * x_s{axis}]"), source.dtype, o.storage.dtype)
    place = f"o[o_q + d{axis} * o_s{axis}]"
    outer = [d for d in range(ndim) if d != axis and d not in inner]

    def starts() -> list[str]:
        dims = [*outer, *inner]
        return [f"{a.name}_q = {offset(a, dims)}" for a in arrays]

    first = f"{place} = " + o.storage.stored(element)
    loads = [f"before = {o.storage.loaded(f'o[o_q + (d{axis} - 1) * o_s{axis}]')}", f"y = {element}"]
    loads += [f"k = {a.storage.loaded(f'w[w_q + (d{axis} - 1) * w_s{axis}]')}" for a in decays]
    step = [*loads, f"{place} = " + o.storage.stored(next_)]
    over_rows = [f"for d{d} in range(n{d}):" for d in inner]
    body = [f"for d{axis} in range(n{axis}):"]
    if inner:
        body += indented([*over_rows, *indented([*starts(), f"if d{axis} == 0:", f"    {first}", "else:"])])
        body += indented(step, 3)
    else:
        body = [*starts(), *body, *indented([f"if d{axis} == 0:", f"    {first}", "else:", *indented(step)])]
    for d in reversed(outer):
        body = [f"for d{d} in range(n{d}):", *indented(body)]
    lines = [*body, "return 0"]
    params = [*lengths(ndim), *(p for a in arrays for p in a.params())]
    return make_kernel(stem, params, lines, LIBRARY.used_by("\n".join(lines)))


def _call(writer: GraphWriter, stem: str, axis: int, values: Sequence[ArrayValue], names: str, next_: str) -> None:
    arrays = [Array(name, v.storage, (False,) * v.ndim) for name, v in zip(names, values, strict=True)]
    unit = _kernel(stem, axis, arrays, next_)
    arguments = [a for array, v in zip(arrays, values, strict=True) for a in array.arguments(v.address, v.strides)]
    writer.call(unit, [*values[-1].dims, *arguments])


@TABLE.register(Accumulation)
def lower_accumulation(op: Accumulation, node: TensorNode, writer: GraphWriter) -> None:
    """Walk along the axis, in the dtype of the result."""
    value = writer.array(node.inputs[0])
    result = writer.new_output(node.outputs[0], value.dims)
    acc = STORAGES[op.dtype]
    _call(writer, f"scan_{op.kind}", op.axis, [value, result], "xo", _joined(op.kind, acc, "before", "y"))


@TABLE.register(LinearRecurrence)
def lower_linear_recurrence(op: LinearRecurrence, node: TensorNode, writer: GraphWriter) -> None:
    """Walk along the axis."""
    decay, value = (writer.array(v) for v in node.inputs)
    dims = list(value.dims)
    for d, (m, n) in enumerate(zip(decay.dims, value.dims, strict=True)):
        if d != op.axis:
            dims[d] = writer.same(n, m)
        else:
            writer.stop_if(f"{m} != max({n} - 1, 0)", SHAPE)
    result = writer.new_output(node.outputs[0], dims)
    next_ = "k * before + y"
    if result.storage.dtype == "float16":
        next_ = "half_f4(half_f4(k * before) + y)"
    elif result.storage.kind == "c":
        next_ = f"mul_{result.storage.code}(k, before) + y"
    _call(writer, "recur", op.axis, [decay, value, result], "wxo", next_)
