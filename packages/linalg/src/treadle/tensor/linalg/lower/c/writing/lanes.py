"""Stacks of small matrices, eight at once: explicit vectors, where kernels of one matrix at a time are slower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

from treadle.kernels import Site, at_site
from treadle.link.c import Unit, ctype
from treadle.tensor import TensorNode, TensorVariable
from treadle.tensor.linalg.lower.kernels.stacks import Operand
from treadle.tensor.linalg.matrix_op import MatrixOp

Rule = Callable[[Any, TensorNode, Site], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """The computation on eight small matrices of real numbers of each operand.

    `text` is C statements of `small_matrices`. Dimensions are variables (``int``) with the names that the op's
    signature has for them; matrices are variables with the names of operands and results.
    """

    # Its operands, as for kernels, and the names of its results, in the order of the op's signature.
    operands: Mapping[str, Operand]
    results: Sequence[str]
    text: str
    # The largest number of rows and columns, and the smallest number of matrices.
    most: int = 24
    least: int = 4


def write_in_lanes(op: MatrixOp, node: TensorNode, unit: Unit, lanes: Lanes, rule: Rule) -> None:
    """Write that small matrices of a stack are computed eight at once, others by the rule for all backends."""
    input_cores, output_cores = op.cores
    inputs, outputs = node.inputs, node.outputs
    nd = inputs[0].type.ndim - len(input_cores[0])
    if not nd or not _may_be_small(node, nd, lanes.most):
        at_site(rule)(op, node, unit)
        return
    sources, results = [unit.slot(x) for x in inputs], [unit.owns(out) for out in outputs]
    into = {name: k for k, name in enumerate(lanes.results)}
    cores = [*input_cores, *output_cores]
    parts = [
        _core(x, at, core, into.get(operand.into, -1))
        for at, core, x, operand in zip(sources, input_cores, inputs, lanes.operands.values(), strict=True)
    ] + [_core(out, at, core, -1) for at, core, out in zip(results, output_cores, outputs, strict=True)]
    free = sum(
        1 << i
        for i, (x, operand) in enumerate(zip(inputs, lanes.operands.values(), strict=True))
        if operand.into and inputs.count(x) == 1 and unit.dying(x, inputs)
    )
    all_parts = f"v, {unit.table('tr_core', parts)}, {len(inputs)}"
    unit.line(f"if (tr_is_small({all_parts}, {nd}, {lanes.most}, {lanes.least})) {{")
    lengths: dict[str, str] = {}
    for at, core in zip(sources, input_cores, strict=True):
        for d, name in enumerate(core):
            place = f"v[{at}].n[{nd + d}]"
            if name in lengths:
                unit.call(f"{place} == {lengths[name]} ? 0 : TR_SHAPE")
            else:
                lengths[name] = place
    for at, core in zip(results, output_cores, strict=True):
        for d, dim in enumerate(core):
            unit.line(f"v[{at}].n[{nd + d}] = {lengths[dim]};")
    raises = int(op.on_error == "raise")
    name = unit.kernel(_text(op, node, lanes, cores))
    unit.call(f"tr_lanes({all_parts}, {len(outputs)}, {nd}, {unit.scratch()}, {free}, {raises}, {name})")
    unit.line("} else {")
    at_site(rule)(op, node, unit)
    unit.line("}")


def _may_be_small(node: TensorNode, nd: int, most: int) -> bool:
    """Whether the text applies: real numbers of one dtype, and no length known to be large."""
    kinds = {ctype(var).short for var in (*node.inputs, *node.outputs)}
    lengths = [n for x in node.inputs for n in x.type.shape[nd:]]
    return len(kinds) == 1 and kinds <= {"f32", "f64"} and all(n is None or n <= most for n in lengths)


def _core(x: TensorVariable, at: int, core: Sequence[str], into: int) -> str:
    """Return the ``tr_core`` of an operand or result."""
    return f"{{{at}, {len(core)}, {ctype(x).size}, {into}}}"


def _text(op: MatrixOp, node: TensorNode, lanes: Lanes, cores: Sequence[Sequence[str]]) -> str:
    """Return the kernel for eight small matrices at once: see ``tr_lanes``."""
    kind = ctype(node.inputs[0])
    short = kind.short
    words = {
        "V": f"tr_w_{short}",
        "M": f"tr_m_{short}",
        "T": kind.computed,
        "epsilon": "0x1p-23f" if kind.suffix else "0x1p-52",
        **{name: f"tr_w_{name}_{short}" for name in ("sqrt", "swap", "pick", "any", "abs")},
    }
    names = [*lanes.operands, *lanes.results]
    lines, known = ["static int @_0(char *const *tr_p, const int64_t *tr_s) {"], set[str]()
    for k, core in enumerate(cores):
        for d, name in enumerate(core):
            if name not in known:
                known.add(name)
                lines.append(f"  int {name} = (int)tr_s[{4 * k + d}];")
    lines += [f"  $V *const {name} = ($V *)tr_p[{k}];" for k, name in enumerate(names)]
    lines.append("  $M bad = {0};")
    for k, name in enumerate(names):
        if f"r_{name}" in lanes.text:
            lines.append(f"  const int64_t r_{name} = tr_s[{4 * k + 2}], c_{name} = 1;")
    if getattr(op, "check_finite", False):
        for k, ((name, operand), core) in enumerate(zip(lanes.operands.items(), op.cores[0], strict=True)):
            rows = f"tr_s[{4 * k}]" if len(core) == 2 else "1"
            first, last = {"": ("0", "c"), "lower": ("0", "i + on"), "upper": ("i + 1 - on", "c")}[operand.half]
            lines += [
                "  {",
                f"    const int64_t r = {rows}, c = tr_s[{4 * k + 1}], on = {int(not operand.strict)};",
                "    $V sum = {0};",
                f"    for (int64_t i = 0; i < r; i++) for (int64_t j = {first}; j < {last}; j++)",
                f"      sum += {name}[i * c + j] * 0;",
                "    bad |= ~(sum == 0);",
                "  }",
            ]
    lines += [f"  {lanes.text}", "  return $any(&bad);", "}", "\f{ return @_0(p, s); }"]
    return Template("\n".join(lines)).substitute(words)
