"""Reductions over axes, and the positions of extrema."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.numba.dtypes import STORAGES, Storage, converted
from treadle.link.numba.status import VALUE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import Array, in_order_of_memory, lengths, merging, nest, offset
from treadle.link.numba.text.reducing import Reduced, blocks, combined, identity, reducing
from treadle.link.numba.text.unit import Unit, indented, make_kernel
from treadle.link.numba.text.values import ArrayValue, ScalarValue, Value, is_literal, product
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import Reduction, TensorNode, TensorVariable


def accumulation(kind: str, ndim: int, source: Storage, inner: str) -> Unit:
    """Return the kernel that combines the elements of an array into those of another, whose strides may be zero.

    They are walked in the order of the array's memory.
    """
    acc = STORAGES[inner]
    x = Array("x", source, (False,) * ndim)
    o = Array("o", acc, (False,) * ndim)
    last = ndim - 1
    lines = [*in_order_of_memory([x], [x, o], ndim), *merging([x, o], ndim)]
    element = converted(source.loaded(f"x[x_q + d{last} * x_s{last}]"), source.dtype, inner)
    place = f"o[o_q + d{last} * o_s{last}]"
    row = Reduced("row", kind, acc, element, is_converted=source.dtype != inner)
    whole = combined(kind, acc, acc.loaded("o[o_q]"), "row_total")
    along = [*row.start(), *blocks(last, [], [row]), *row.end(), "o[o_q] = " + acc.stored(whole)]
    across = [
        f"for d{last} in range(n{last}):",
        f"    {place} = " + acc.stored(combined(kind, acc, f"({acc.loaded(place)})", element)),
    ]
    inside = [
        f"x_q = {offset(x, range(last))}",
        f"o_q = {offset(o, range(last))}",
        f"if o_s{last} == 0:",
        *indented(along),
        "else:",
        *indented(across),
    ]
    lines += [*nest(last, inside), "return 0"]
    params = [*lengths(ndim), *x.params(), *o.params()]
    return make_kernel(kind, params, lines, LIBRARY.used_by("\n".join(lines)))


def cleared(writer: GraphWriter, dims: Sequence[str], dtype: str, kind: str) -> ArrayValue:
    """Write the allocation of an array that is filled with the identity of a reduction."""
    storage = STORAGES[dtype]
    result = writer.allocate(dims, storage)
    writer.run_elementwise(f"start_{kind}", [], [("o", result)], [f"o_x = {identity(kind, storage)}"])
    return result


def accumulate(
    writer: GraphWriter, kind: str, value: ArrayValue, result: ArrayValue, strides: Sequence[str], inner: str
) -> None:
    """Write that all elements of an array are combined into those of the result that `strides` select."""
    unit = accumulation(kind, value.ndim, value.storage, inner)
    ndim = value.ndim
    arrays = [Array("x", value.storage, (False,) * ndim), Array("o", STORAGES[inner], (False,) * ndim)]
    arguments = [*value.dims, *writer.passed(arrays[0], value.address, value.strides)]
    arguments += writer.passed(arrays[1], result.address, strides)
    kept = [d for d in range(ndim) if strides[d] != "0"]
    unit, arguments = writer.spread(unit, ndim, arrays, [], kept, arguments)
    writer.call(unit, arguments)


def bind_result(writer: GraphWriter, out: TensorVariable, result: ArrayValue, inner: str) -> None:
    """Bind an output to an array converted to its dtype, or to the array's only element if the output has rank 0."""
    kind = out.type
    if kind.ndim == 0:
        text = writer.let(result.storage.first(result.address), code=result.storage.code)
        writer.bind_scalar(out, converted(text, inner, kind.dtype))
    elif kind.dtype == inner:
        writer.bind(out, result)
    else:
        writer.copy_into(writer.new_output(out, result.dims), result)


@TABLE.register(Reduction)
def lower_reduction(op: Reduction, node: TensorNode, writer: GraphWriter) -> None:
    """Start from the identity and combine all elements into the result."""
    (x,), (out,) = node.inputs, node.outputs
    value = writer.value(x)
    if isinstance(value, ScalarValue):
        text = converted(value.text, value.storage.dtype, op.acc_dtype)
        name = writer.let(text, code=STORAGES[op.acc_dtype].code)
        writer.bind_scalar(out, converted(name, op.acc_dtype, op.dtype))
        return
    kept = [d for d in range(value.ndim) if d not in op.axes]
    dims = [value.dims[d] for d in kept]
    if op.kind in {"max", "min"} and op.axes:
        refuse_empty(writer, [value.dims[d] for d in op.axes])
    if not kept:
        reduce_elements(
            writer, op.kind, [("x", value)], value.dims, [], [], [(op, out, "x_x", value.storage.dtype)], op.axes
        )
        return
    inner = _working_dtype(op)
    result = cleared(writer, dims or ["1"], inner, op.kind)
    accumulate(writer, op.kind, value, result, strides_of_kept(result, op.axes, value.ndim), inner)
    bind_result(writer, out, result, inner)


def _working_dtype(op: Reduction) -> str:
    """Return the dtype that a reduction works in: sums of float16 are accumulated in float32."""
    return "float32" if op.acc_dtype == "float16" else op.acc_dtype


def reduce_elements(
    writer: GraphWriter,
    stem: str,
    inputs: Sequence[tuple[str, Value]],
    dims: Sequence[str],
    outputs: Sequence[tuple[str, ArrayValue]],
    body: Sequence[str],
    reductions: Sequence[tuple[Reduction, TensorVariable, str, str]],
    axes: Sequence[int],
    checks: bool = False,
) -> None:
    """Write a call of the kernel that computes elements and reduces them over axes, and bind the results.

    Parameters
    ----------
    stem, inputs, outputs, body, checks
        As for `GraphWriter.run_elementwise`; `outputs` are stored as a whole.
    dims
        The lengths that the operands are broadcast to.
    reductions
        Each with its result, its element as an expression over the body's variables, and the element's dtype.
    axes
        What all of them reduce.
    """
    ndim = len(dims)
    kept = [d for d in range(ndim) if d not in axes]
    arrays, scalars, written, arguments, scalar_arguments = writer.operands(inputs, outputs, dims)
    reduced = []
    for k, (op, _, text, dtype) in enumerate(reductions):
        inner = _working_dtype(op)
        reduced.append(Reduced(f"r{k}", op.kind, STORAGES[inner], converted(text, dtype, inner)))
    unit = reducing(stem, ndim, axes, arrays, scalars, written, body, reduced, checks)
    if kept:
        ends = kept == list(range(len(kept)))
        results = []
        for r in reduced:
            shape = [dims[d] for d in kept]
            results.append(
                writer.allocate(shape, r.storage) if ends else cleared(writer, shape, r.storage.dtype, r.kind)
            )
            strides = strides_of_kept(results[-1], axes, ndim)
            written.append(Array(r.name, r.storage, tuple(d in axes for d in range(ndim))))
            arguments += writer.passed(written[-1], results[-1].address, strides)
        arguments = [*dims, *arguments, *scalar_arguments]
        unit, arguments = writer.spread(unit, ndim, [*arrays, *written], scalars, kept, arguments)
        writer.call(unit, arguments, checked=checks)
        for (_, out, _, _), r, result in zip(reductions, reduced, results, strict=True):
            bind_result(writer, out, result, r.storage.dtype)
        return
    arguments = [*dims, *arguments, *scalar_arguments]
    unit, arguments = writer.spread(unit, ndim, [*arrays, *written], scalars, axes, arguments, reduced, checks)
    writer.units[unit.name] = unit
    bad = [writer.name("bad")] if checks else []
    names = [writer.name(code=r.storage.code) for r in reduced]
    writer.add(f"{', '.join([*bad, *names])} = {unit.name}({', '.join(arguments)})")
    for name in bad:
        writer.stop_if(f"{name} != 0", VALUE)
    for (_, out, _, _), name, r in zip(reductions, names, reduced, strict=True):
        writer.bind_scalar(out, converted(name, r.storage.dtype, out.type.dtype))


def refuse_empty(writer: GraphWriter, reduced: Sequence[str]) -> None:
    """Write that the program stops if there are no elements to reduce, with or without results, as NumPy does."""
    if not all(is_literal(n) and n != "0" for n in reduced):
        writer.stop_if(f"{product(list(reduced))} == 0", VALUE)


def strides_of_kept(result: ArrayValue, axes: Sequence[int], ndim: int) -> list[str]:
    """Return the strides of a result along the dimensions of what is reduced over some axes."""
    own = iter(result.strides)
    return ["0" if d in axes else next(own) for d in range(ndim)]


def element_along(name: str, axes: Sequence[int]) -> str:
    """Return an array's element in the loops over the reduced axes, for `over_kept`."""
    return f"{name}[{name}_q{''.join(f' + j{d} * {name}_r{d}' for d in range(len(axes)))}]"


def over_kept(
    writer: GraphWriter,
    stem: str,
    axes: Sequence[int],
    value: ArrayValue,
    result: ArrayValue,
    body: Sequence[str],
) -> None:
    """Write a call of the kernel that runs statements for each position on the axes that are kept.

    They read the elements ``x`` of a value from ``x_q`` on, and write those of a result ``o`` from ``o_q`` on: it has
    the value's dimensions, or one element for each position. Lengths of the reduced axes are ``m0`` and so on.
    """
    kept = [d for d in range(value.ndim) if d not in axes]
    order, sizes = [*kept, *axes], (("s", len(kept)), ("r", len(axes)))
    is_whole = result.ndim == value.ndim and bool(axes)
    walked = {"x": value, "o": result} if is_whole else {"x": value}
    places = [f"{p}_q = " + (" + ".join(f"d{d} * {p}_s{d}" for d in range(len(kept))) or "0") for p in walked]
    ends = [] if is_whole else ["o_q = o_q + 1"]
    lines = ["o_q = 0", *nest(len(kept), [*places, *body, *ends]), "return 0"]
    params = [*lengths(len(kept)), *((f"m{d}", "i8") for d in range(len(axes)))]
    arguments = [value.dims[d] for d in order]
    for p, array in (("x", value), ("o", result)):
        memory = array.storage.memory
        params.append((p, f"*{memory}"))
        arguments.append(f"as_{memory}({array.address})")
        if p in walked:
            params += [(f"{p}_{letter}{d}", "i8") for letter, n in sizes for d in range(n)]
            arguments += [array.strides[d] for d in order]
    writer.call(make_kernel(stem, params, lines, LIBRARY.used_by("\n".join(lines))), arguments)
