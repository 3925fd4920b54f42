"""PortableDraws: loops over blocks of Philox, or over elements where attempts may be rejected.

Where the parameters are scalars, the first attempts are a loop without branches, which LLVM vectorizes; a second loop
draws the rejected elements again.
"""

from __future__ import annotations

from typing import NamedTuple

from treadle.graph import Unsupported
from treadle.link.numba import (
    LIBRARY,
    SHAPE,
    TABLE,
    Array,
    ArrayValue,
    GraphWriter,
    ScalarValue,
    Unit,
    Value,
    as_operand,
    converted,
    indented,
    lengths,
    make_kernel,
    nest,
    offset,
    product,
    still_where,
)
from treadle.tensor import PortableDraws, TensorNode
from treadle.tensor.random.generators.sampler_table import SamplerTable
from treadle.tensor.random.lower.numba.philox_texts import PHILOX, drawn_from

LIBRARY.add(PHILOX)

_CODES = {"float64": "f8", "int64": "i8"}

_STATE = [("key", "i8"), ("stream", "i8"), ("at", "i8")]
# The statements that prepare all numbers of a block, and the expressions of the numbers.
_BLOCKS: dict[tuple[str, str], tuple[list[str], list[str]]] = {
    ("bits", "u4"): ([], [f"u4(w{i})" for i in range(4)]),
    **{("bits", code): ([], [f"{code}(w0 | (w1 << 32))", f"{code}(w2 | (w3 << 32))"]) for code in ("u8", "i8")},
    ("random", "f8"): ([], ["unit_f8(w0, w1)", "unit_f8(w2, w3)"]),
    ("random", "f4"): ([], [f"unit_f4(w{i})" for i in range(4)]),
    ("standard_exponential", "f8"): (
        [],
        ["-libm_log_f8(1.0 - unit_f8(w0, w1))", "-libm_log_f8(1.0 - unit_f8(w2, w3))"],
    ),
    ("standard_exponential", "f4"): ([], [f"-libm_log_f4(f4(1) - unit_f4(w{i}))" for i in range(4)]),
    ("standard_normal", "f8"): (
        ["r = sqrt(-2.0 * libm_log_f8(1.0 - unit_f8(w0, w1)))", "angle = 6.283185307179586 * unit_f8(w2, w3)"],
        ["r * libm_cos_f8(angle)", "r * libm_sin_f8(angle)"],
    ),
    ("standard_normal", "f4"): (
        [
            line
            for i in (0, 2)
            for line in (
                f"u{i} = f4(f8(w{i}) + 1.0) * f4({2.0**-32!r})",
                f"r{i} = sqrt(f4(-2) * libm_log_f4(u{i}))",
                f"angle{i} = f4(6.283185307179586) * (f4(w{i + 1}) * f4({2.0**-32!r}))",
            )
        ],
        [f"r{i} * libm_{name}_f4(angle{i})" for i in (0, 2) for name in ("cos", "sin")],
    ),
}


class SamplerText(NamedTuple):
    """How a sampler that may reject draws an element.

    ``<sampler>_from`` repeats attempts until one is accepted; ``<sampler>_attempt`` makes one of them.

    Attributes
    ----------
    parameters
        Names of the sampler's parameters, separated by commas.
    arguments
        The arguments of both; None stands for the parameters.
    element, unless
        The expression of the element from the number `drawn`, and the condition under which it is that number itself.
    prepared
        Statements that run first, on the parameters.
    few, started, search
        The condition under which a search replaces the attempts, the statements on the parameters that precede it, and
        the expression of the draw for a uniform number u.
    functions
        Texts of functions, with a comment that says the types of their arguments behind the first line of each, and
        empty lines between them. One is ``<sampler>_attempt(k, at, stream, key, <arguments>)``, which returns the draw
        of an attempt, or NaN, or -1 of integers, where it is rejected; it begins with
        ``w0, w1, w2, w3 = philox(at, k, stream, key)``. ``<sampler>_from`` follows from it.
    """

    parameters: str
    arguments: str | None = None
    element: str = ""
    unless: str = "False"
    prepared: tuple[str, ...] = ()
    few: str = ""
    started: tuple[str, ...] = ()
    search: str = ""
    functions: str = ""


_OWN = {
    "standard_gamma": SamplerText(
        "alpha", None, "standard_gamma_boosted(drawn, e, stream, key, alpha)", "not alpha < 1.0"
    ),
    "log_standard_gamma": SamplerText(
        "alpha", None, "log_standard_gamma_boosted(drawn, e, stream, key, alpha)", "not alpha < 1.0"
    ),
    "vonmises": SamplerText("kappa"),
    "zipf": SamplerText("a"),
    "poisson": SamplerText(
        "lam", few="lam < 10.0", started=("p0 = libm_exp_f8(-lam)",), search="poisson_search(u, p0, lam)"
    ),
    "binomial": SamplerText(
        "n, p",
        "count, q",
        "n - drawn",
        "not p > 0.5",
        ("q = pick(p > 0.5, 1.0 - p, p)", "count = f8(n)"),
        "not count * q >= 10.0",
        ("p0 = libm_exp_f8(count * libm_log1p_f8(-q))", "odds = q / (1.0 - q)"),
        "binomial_search(u, p0, count, odds)",
    ),
    "hypergeometric": SamplerText(
        "good, bad, sample",
        "g, c, h",
        "hypergeometric_of(drawn, good, bad, sample)",
        "good <= bad and sample + sample <= good + bad",
        ("g = f8(min(good, bad))", "h = f8(max(good, bad))", "c = f8(min(sample, good + bad - sample))"),
        "not c * (g / larger(g + h, 1.0)) >= 10.0",
        ("p0 = hypergeometric_none(smaller(g, c), larger(g, c), g + h)",),
        "hypergeometric_search(u, p0, smaller(g, c), larger(g, c), h - c)",
    ),
    # Drawn by kernels of its own.
    "integers": SamplerText("low, high"),
}
# The texts of samplers; others may register theirs.
SAMPLER_TEXTS: SamplerTable[SamplerText] = SamplerTable(TABLE, _OWN)


def has_text(op: PortableDraws, _: TensorNode) -> None:
    """Refuse a sampler without a text.

    Raises
    ------
    Unsupported
        If there is none.
    """
    if not any(sampler == op.sampler for sampler, _ in _BLOCKS) and SAMPLER_TEXTS.find(op.sampler) is None:
        msg = f"there is no text of the sampler {op.sampler}"
        raise Unsupported(msg, "register it in treadle.tensor.random.lower.numba.SAMPLER_TEXTS")


@TABLE.register(PortableDraws, check=has_text)
def lower_portable_draws(op: PortableDraws, node: TensorNode, writer: GraphWriter) -> None:
    """Write the call of the kernel of the sampler."""
    state, given_lengths, parameters = op.parts(node.inputs)
    held = writer.array(state)
    words = [writer.let(f"as_i8({held.address})[{k} * {held.strides[0]}]") for k in range(3)]
    dims = tuple(writer.let(writer.scalar(n, "int64"), "n") for n in given_lengths)
    for n in dims:
        writer.stop_if(f"{n} < 0", SHAPE)
    (out,) = node.outputs
    operands = [as_operand(writer, p) for p in parameters]
    _check(operands, dims, writer)
    result = writer.new_output(out, dims) if dims else writer.allocate(["1"], writer.storage(out))
    target = f"as_{result.storage.memory}({result.address})"
    text = SAMPLER_TEXTS.find(op.sampler)
    if text is None:
        unit = _block_kernel(op.sampler, result.storage.code)
        writer.call(unit, [*words, writer.let(product(dims) if dims else "1"), target])
    else:
        if text.functions:
            _add_functions(op, text)
        _draw_elements(op, text, operands, words, dims, result, target, writer)
    if not dims:
        writer.bind_scalar(out, f"{target}[0]")


def _check(operands: list[Value], dims: tuple[str, ...], writer: GraphWriter) -> None:
    """Write that the program stops where a parameter does not broadcast to the batch."""
    for value in operands:
        if isinstance(value, ArrayValue):
            for n, m in zip(value.dims, dims[len(dims) - value.ndim :], strict=True):
                if n not in {"1", m}:
                    writer.stop_if(f"{n} != 1 and {n} != {m}", SHAPE)


def _block_kernel(sampler: str, code: str) -> Unit:
    """Return the kernel that draws n elements, several from each block of random bits."""
    statements, drawn = _BLOCKS[sampler, code]
    count = len(drawn)
    block = ["w0, w1, w2, w3 = philox(at + j, 0, stream, key)", *statements]
    last_block = [
        line
        for i, text in enumerate(drawn)
        for line in (f"if {count} * j + {i} < n:", f"    o[{count} * j + {i}] = {text}")
    ]
    lines = [
        f"for j in range(n // {count}):",
        *indented([*block, *(f"o[{count} * j + {i}] = {text}" for i, text in enumerate(drawn))]),
        f"if n % {count} != 0:",
        f"    j = n // {count}",
        *indented([*block, *last_block]),
        "return 0",
    ]
    return make_kernel(
        f"draw_{sampler}", [*_STATE, ("n", "i8"), ("o", f"*{code}")], lines, LIBRARY.used_by("\n".join(lines))
    )


def _add_functions(op: PortableDraws, text: SamplerText) -> None:
    """Let kernels call the functions of a sampler's text, and the one that repeats its attempts."""
    kept = "drawn >= 0" if op.dtype == "int64" else "drawn == drawn"
    codes = " ".join(_CODES[dtype] for dtype in op.parameter_dtypes) if text.arguments is None else ""
    LIBRARY.add(text.functions)
    LIBRARY.add(drawn_from(op.sampler, _arguments(text), kept, codes))


def _arguments(text: SamplerText) -> str:
    return text.parameters if text.arguments is None else text.arguments


def _draw_elements(
    op: PortableDraws,
    text: SamplerText,
    operands: list[Value],
    words: list[str],
    dims: tuple[str, ...],
    result: ArrayValue,
    target: str,
    writer: GraphWriter,
) -> None:
    """Write the call of a kernel that draws each element by itself."""
    arrays: list[Array] = []
    scalars: list[tuple[str, str]] = []
    setting: list[str] = []
    arguments: list[str] = []
    texts: list[str] = []
    sampler = op.sampler
    names = [name.strip() for name in text.parameters.split(",") if name.strip()]
    for name, dtype, value in zip(names, op.parameter_dtypes, operands, strict=True):
        if isinstance(value, ScalarValue):
            scalars.append((name, _CODES[dtype]))
            texts.append(converted(value.text, value.storage.dtype, dtype))
            continue
        missing = len(dims) - value.ndim
        flat = ArrayValue(value.address, ("1",) * missing + value.dims, ("0",) * missing + value.strides, value.storage)
        array = Array(f"{name}_p", value.storage, still_where(flat, dims))
        arrays.append(array)
        arguments += array.arguments(flat.address, writer.strides_in(flat, dims))
        place = f"{array.name}[{offset(array, range(len(dims)))}]"
        setting.append(f"{name} = " + converted(value.storage.loaded(place), value.storage.dtype, dtype))
    if arrays:
        lines = _each(sampler, text, len(dims), setting, result.storage.code)
        shape = dims
    else:
        code = result.storage.code
        if sampler == "integers":
            lines = _INTEGERS
        else:
            lines = _each(sampler, text, 1, [], code) if code == "f4" else _first_for_all(sampler, text, code)
        shape = (writer.let(product(dims) if dims else "1"),)
    params = [
        *_STATE,
        *lengths(len(shape)),
        *(p for a in arrays for p in a.params()),
        *scalars,
        ("o", f"*{result.storage.code}"),
    ]
    unit = make_kernel(f"draw_{sampler}", params, lines, LIBRARY.used_by("\n".join(lines)))
    writer.call(unit, [*words, *shape, *arguments, *texts, target])


def _each(sampler: str, how: SamplerText, ndim: int, setting: list[str], code: str) -> list[str]:
    """Return the body of a kernel for parameters that differ among elements, where `setting` reads them."""

    def loops(*body: str) -> list[str]:
        return ["i = 0", *nest(ndim, [], [*setting, "e = at + i", *body, "i = i + 1"])]

    if sampler == "integers":
        return [*loops("o[i] = low + integers_draw(e, stream, key, high - low - 1)"), "return 0"]
    kind = "i8" if code == "i8" else "f8"
    element = [f"if not ({how.unless}):", f"    drawn = {how.element}"] if how.element else []
    first: list[str] = []
    drawing = [f"drawn = {kind}({sampler}_from(1, e, stream, key, {_arguments(how)}))"]
    if how.few:
        words = [*how.started, "w0, w1, w2, w3 = philox(e, 1, stream, key)", "u = unit_f8(w0, w1)"]
        drawing = [f"if {how.few}:", *indented([*words, f"drawn = {kind}({how.search})"]), "else:", *indented(drawing)]
    elif code != "f4":
        # The first attempts for all elements, which LLVM vectorizes.
        first = loops(*how.prepared, f"o[i] = {code}({sampler}_attempt(1, e, stream, key, {_arguments(how)}))")
        again = f"    drawn = {kind}({sampler}_from(2, e, stream, key, {_arguments(how)}))"
        drawing = ["drawn = o[i]", f"if not ({_kept(code)}):", again]
    return [*first, *loops(*how.prepared, *drawing, *element, f"o[i] = {code}(drawn)"), "return 0"]


def _kept(code: str) -> str:
    """Return the condition under which an element was drawn: the mark of a rejected attempt does not satisfy it."""
    return "o[i] == o[i]" if code == "f8" else "o[i] >= 0"


def _first_for_all(sampler: str, how: SamplerText, code: str) -> list[str]:
    """Return the body of a kernel that first makes one attempt for each element, and marks rejected ones in place."""
    loop = ["for i in range(n0):", "    e = at + i"]
    attempts = [
        *loop,
        f"    o[i] = {code}({sampler}_attempt(1, e, stream, key, {_arguments(how)}))",
        *loop,
        f"    if not ({_kept(code)}):",
        f"        o[i] = {code}({sampler}_from(2, e, stream, key, {_arguments(how)}))",
    ]
    if how.few:
        attempts = [
            f"if {how.few}:",
            *indented(how.started),
            # The uniform numbers come first, in a loop that LLVM vectorizes; the output holds them.
            *indented([*loop, "    w0, w1, w2, w3 = philox(e, 1, stream, key)"]),
            *indented(["    o[i] = ((w0 | (w1 << 32)) >> 11) & 9007199254740991"]),
            *indented([loop[0], f"    u = f8(o[i]) * {2.0**-53!r}", f"    o[i] = {code}({how.search})"]),
            "else:",
            *indented(attempts),
        ]
    element: list[str] = []
    if how.element:
        changed = [*loop, "    drawn = o[i]", f"    o[i] = {how.element}"]
        element = [f"if not ({how.unless}):", *indented(changed)]
    return [*how.prepared, *attempts, *element, "return 0"]


_INTEGERS = [
    "m = high - low - 1",
    "if 0 <= m and m < 2147483648:",
    # An attempt can only be rejected where the low half is 0, which is rare: then all are drawn again.
    "    rare = 0",
    "    for i in range(n0):",
    "        w0, w1, w2, w3 = philox(at + i, 1, stream, key)",
    "        b = w1 * (m + 1) + (((w0 * (m + 1)) >> 32) & 4294967295)",
    "        o[i] = low + (b >> 32)",
    "        rare = rare + i8(b & 4294967295 == 0)",
    "    if rare == 0:",
    "        return 0",
    "for i in range(n0):",
    "    o[i] = low + integers_draw(at + i, stream, key, m)",
    "return 0",
]
