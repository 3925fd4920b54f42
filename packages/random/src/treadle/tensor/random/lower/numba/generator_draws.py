"""Draws of NumPy's generators, by NumPy's own compiled samplers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from treadle.link.numba import (
    LIBRARY,
    SHAPE,
    STORAGES,
    TABLE,
    VALUE,
    Array,
    ArrayValue,
    GraphWriter,
    ScalarValue,
    Value,
    indented,
    lengths,
    make_kernel,
    nest,
    offset,
    product,
)
from treadle.tensor import SAMPLER_CONDITIONS, GeneratorDraws, TensorNode
from treadle.tensor.random.lower.numba.generator_texts import BLOCK, GENERATORS
from treadle.tensor.random.lower.numba.samplers import BitGenerators

# The expression of one draw from the parameters a, b and c, where it is not a plain call of the sampler of that name.
_DRAWS = {
    "exponential": "a * random_standard_exponential(g)",
    "gamma": "b * random_standard_gamma(g, a)",
    "uniform": "random_uniform(g, a, b - a)",
    "binomial": "random_binomial(g, b, a, g + 2624)",
    "integers": "random_bounded_uint64(g, a, b - a - 1, 0, 0)",
}
# For draws that are vectors of length m, at y: the call, and the condition on the parameters. Vectors are addresses.
_VECTORS = {
    "multinomial": ("draw_multinomial(g, a, b, y, m)", "a >= 0 and is_multinomial(b, m)"),
    "multivariate_hypergeometric": ("draw_hypergeometric(g, a, b, y, m)", "b >= 0 and total_of(a, m) >= b"),
    "dirichlet": ("draw_dirichlet(g, a, y, m)", "not_below_zero(a, m)"),
    "permutation": ("draw_permutation(g, a, y, m)", ""),
}
# Samplers that fill an array.
_FILLS = {
    "random": "random_standard_uniform_fill",
    "standard_normal": "random_standard_normal_fill",
    "standard_exponential": "random_standard_exponential_fill",
}
_NAMES = "abc"

LIBRARY.add(GENERATORS)


@TABLE.register(GeneratorDraws)
def lower_generator_draws(op: GeneratorDraws, node: TensorNode, writer: GraphWriter) -> None:
    """Write: copy the state into NumPy's structure, check the parameters, draw in C order, copy the state back."""
    words, sizes, parameters = op.parts(node.inputs)
    after, drawn = node.outputs
    parameter_cores, _ = op.cores
    dims = [writer.let(writer.scalar(n, "int64"), "n") for n in sizes]
    for n in dims:
        if not n.isdigit():
            writer.stop_if(f"{n} < 0", VALUE)
    before = writer.packed(writer.array(words))
    g = writer.allocate([str(BLOCK)], STORAGES["int64"]).address
    opened = writer.let(f"open_generator({writer.pointer(BitGenerators())}, {g}, {before.address}, {before.dims[0]})")
    writer.stop_if(f"{opened} != 0", SHAPE)
    values = [
        writer.packed(writer.array(p)) if core else writer.value(p)
        for p, core in zip(parameters, parameter_cores, strict=True)
    ]
    core = [x.dims[-1] for x, own in zip(values, parameter_cores, strict=True) if own and isinstance(x, ArrayValue)][:1]
    count = writer.let(product([*dims, "1"]), "n")
    mark = len(writer.lines)
    _check(op, writer, values, core)
    if op.sampler == "integers":
        # NumPy does not look at the bounds where nothing is drawn.
        writer.lines[mark:] = [f"if {count} > 0:", *indented(writer.lines[mark:])]
    shape = [*dims, *core]
    result = writer.new_output(drawn, shape) if shape else writer.allocate(["1"], writer.storage(drawn))
    fill = _fill(op, g, values, count, result.address)
    if fill:
        writer.add(f"if {count} > 0:", f"    {fill}")
    else:
        _draw(op, writer, g, values, result, core)
    if not shape:
        code = result.storage.memory
        writer.bind_scalar(drawn, f"as_{code}({result.address})[0]")
    state = writer.new_output(after, [before.dims[0]])
    writer.add(f"close_generator({g}, {before.address}, {state.address}, {before.dims[0]})")


def _fill(op: GeneratorDraws, g: str, values: Sequence[Value], count: str, place: str) -> str:
    """Return the call of a sampler that fills the whole array, or an empty text if there is no such sampler."""
    if op.sampler in _FILLS:
        return f"sampler_{_FILLS[op.sampler]}{'_f' if op.dtype == 'float32' else ''}({g}, {count}, {place})"
    bounds = [x.text for x in values if isinstance(x, ScalarValue)]
    if op.sampler != "integers" or len(bounds) < 2:
        # Bounds that are arrays, even of one element, are handled draw by draw.
        return ""
    a, b = bounds
    return f"sampler_random_bounded_uint64_fill({g}, {a}, {b} - {a} - 1, {count}, 0, {place})"


def _batch(value: ArrayValue, core: bool, ndim: int) -> ArrayValue:
    """Return an array, or an array of vectors, with dimensions of length 1 in front, up to `ndim` batch dimensions."""
    dims, strides = (x[:-1] if core else x for x in (value.dims, value.strides))
    more = ndim - len(dims)
    return replace(value, dims=("1",) * more + dims, strides=("0",) * more + strides)


def _check(op: GeneratorDraws, writer: GraphWriter, values: Sequence[Value], core: Sequence[str]) -> None:
    """Write the checks of parameters; each runs over the shape that the parameters in its condition broadcast to."""
    parameter_cores, _ = op.cores
    conditions = (_VECTORS[op.sampler][1],) if op.sampler in _VECTORS else SAMPLER_CONDITIONS.get(op.sampler, ())
    for condition in filter(None, conditions):
        used = [k for k, name in enumerate(_NAMES[: len(values)]) if re.search(rf"\b{name}\b", condition)]
        ndim = max(
            (x.ndim - bool(parameter_cores[k]) for k in used if isinstance(x := values[k], ArrayValue)), default=0
        )
        arrays = {k: _batch(x, bool(parameter_cores[k]), ndim) for k in used if isinstance(x := values[k], ArrayValue)}
        dims = writer.broadcast_dims([x.dims for x in arrays.values()], [None] * ndim) if arrays else ()
        body = [f"if not ({condition}):", f"    return {VALUE}"]
        _run(op, writer, "check_draws", {k: values[k] for k in used}, arrays, dims, core, body)


def _draw(
    op: GeneratorDraws, writer: GraphWriter, g: str, values: Sequence[Value], result: ArrayValue, core: Sequence[str]
) -> None:
    """Write the draws, one after the other."""
    parameter_cores, _ = op.cores
    arrays = {
        k: _batch(x, bool(parameter_cores[k]), op.ndim) for k, x in enumerate(values) if isinstance(x, ArrayValue)
    }
    out = replace(result, dims=result.dims[: op.ndim], strides=result.strides[: op.ndim])
    for x in arrays.values():
        for n, m in zip(x.dims, out.dims, strict=True):
            if n not in {"1", m}:
                writer.stop_if(f"{n} != 1 and {n} != {m}", SHAPE)
    if op.sampler in _VECTORS:
        body = [f"y = y_p + 8 * ({_offset(_array('y', out))})", _VECTORS[op.sampler][0]]
    else:
        single = op.dtype == "float32"
        names = "".join(f", {'f4(' * single}{name}{')' * single}" for name in _NAMES[: len(values)])
        drawn = _DRAWS.get(op.sampler, f"random_{op.sampler}{'_f' * single}(g{names})")
        drawn = drawn.replace("random_", "sampler_random_")
        body = [f"as_{out.storage.memory}(y_p)[{_offset(_array('y', out))}] = {drawn}"]
    more = [("g", g), ("y_p", out.address), *((f"y_s{d}", s) for d, s in enumerate(out.strides))]
    _run(op, writer, "draw", dict(enumerate(values)), arrays, out.dims, core, body, more)


def _array(name: str, value: ArrayValue) -> Array:
    return Array(name, value.storage, (False,) * value.ndim)


def _offset(array: Array) -> str:
    return offset(array, range(len(array.still)))


def _run(
    op: GeneratorDraws,
    writer: GraphWriter,
    stem: str,
    values: dict[int, Value],
    arrays: dict[int, ArrayValue],
    dims: Sequence[str],
    core: Sequence[str],
    body: Sequence[str],
    more: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the call of a kernel that runs statements for each draw.

    `values` and `arrays` are, by position, the parameters that the statements name a, b and c, and those of them
    that are arrays, all of one rank; `dims` are the lengths of the loops, `core` that of vectors, m in the
    statements, and `more` further names that the statements use, with their values.
    """
    parameter_cores, _ = op.cores
    params = [*lengths(len(dims)), *((name, "i8") for name, _ in more), *(("m", "i8") for _ in core)]
    arguments = [*dims, *(text for _, text in more), *core]
    loads = []
    for k, value in values.items():
        name = _NAMES[k]
        if isinstance(value, ScalarValue):
            params.append((name, value.storage.code))
            arguments.append(value.text)
            continue
        batch = arrays[k]
        array = _array(name, batch)
        params += [(f"{name}_p", "i8"), *((array.stride(d), "i8") for d in range(batch.ndim))]
        arguments += [batch.address, *writer.strides_in(batch, dims)]
        place = _offset(array)
        loads.append(
            f"{name} = {name}_p + 8 * ({place})"
            if parameter_cores[k]
            else f"{name} = as_{batch.storage.memory}({name}_p)[{place}]"
        )
    lines = [*nest(len(dims), [], [*loads, *body]), "return 0"]
    writer.call(make_kernel(stem, params, lines, LIBRARY.used_by("\n".join(lines))), arguments, checked=True)
