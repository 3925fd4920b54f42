"""Draws of NumPy's generators, by NumPy's own compiled samplers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import Template

from treadle.link.c import HELPERS, TABLE, Unit, ctype
from treadle.tensor import TensorNode, TensorVariable
from treadle.tensor.random.generators.compiled_samplers import SAMPLER_CONDITIONS
from treadle.tensor.random.generators.generator_draws import GeneratorDraws
from treadle.tensor.random.lower.c.generator_texts import GENERATORS
from treadle.tensor.random.lower.c.samplers import bit_generators, with_samplers

# The expression of one draw from the parameters a, b and c, where it is not a plain call of the sampler of that name.
_DRAWS = {
    "exponential": "(a * random_standard_exponential(g))",
    "gamma": "(b * random_standard_gamma(g, a))",
    "uniform": "random_uniform(g, a, b - a)",
    "binomial": "random_binomial(g, b, a, g->binomial)",
    "integers": "random_bounded_uint64(g, (uint64_t)a, (uint64_t)b - (uint64_t)a - 1, 0, 0)",
}
# For draws that are vectors of length m: the statements that write y, and the condition on the parameters.
_VECTORS = {
    "multinomial": (
        "memset(y, 0, (size_t)m * 8); random_multinomial(g, a, y, (void *)b, m, g->binomial);",
        "a >= 0 && tr_is_multinomial(b, m)",
    ),
    "multivariate_hypergeometric": (
        """memset(y, 0, (size_t)m * 8);
    if (m) random_multivariate_hypergeometric_marginals(g, tr_total(a, m), (uint64_t)m, (void *)a, b, 1, y);""",
        "b >= 0 && tr_total(a, m) >= b",
    ),
    "dirichlet": ("tr_dirichlet(g, a, y, m, &random_standard_gamma, &random_beta);", "tr_not_below_zero(a, m)"),
    "permutation": ("memcpy(y, a, (size_t)m * 8); tr_permute(g, y, m, &random_interval);", ""),
}
# Samplers that fill an array.
_FILLS = {
    "random": "random_standard_uniform_fill",
    "standard_normal": "random_standard_normal_fill",
    "standard_exponential": "random_standard_exponential_fill",
}
_CONDITION = re.compile(r"\b(not_\w+|is_\w+)\(")
_NAMES = "abc"
_KERNEL = Template("""\
{
  tr_generator *const g = (tr_generator *)p[0];
  $before
  (void)g; (void)s;
  for (int64_t i = 0; i < n; i++) {
    $lines
  }
  return 0;
}""")

HELPERS.add(GENERATORS, {})


@TABLE.register(GeneratorDraws)
def generator_draws(op: GeneratorDraws, node: TensorNode, unit: Unit) -> None:
    """Write: copy the state into NumPy's structure, check the parameters, draw in C order, copy the state back."""
    words, lengths, parameters = op.parts(node.inputs)
    parameter_cores, (draw_core,) = op.cores
    ranks = [p.type.ndim - len(core) for p, core in zip(parameters, parameter_cores, strict=True)]
    source, after, o = unit.slot(words), unit.owns(node.outputs[0]), unit.owns(node.outputs[1])
    slots = [_packed(unit, p) if core else unit.slot(p) for p, core in zip(parameters, parameter_cores, strict=True)]
    for d, n in enumerate(lengths):
        unit.line(f"v[{o}].n[{d}] = {unit.integer(n)};")
        unit.call(f"v[{o}].n[{d}] < 0 ? TR_LENGTH : 0")
    unit.ask_operands(len(slots) + 2)
    unit.line("{ tr_generator g;")
    unit.call(f"tr_open_generator(&g, v + {source}, (void *const *){bit_generators(unit)})")
    if draw_core:
        cores = [f"v[{at}].n[{rank}]" for at, rank, core in zip(slots, ranks, parameter_cores, strict=True) if core]
        unit.line(f"g.core = v[{o}].n[{op.ndim}] = {cores[0]};")
    checks = _checks(op, parameters, bool(draw_core))
    if op.sampler == "integers":
        # NumPy does not look at the bounds where nothing is drawn.
        unit.line(f"if (tr_count(v + {o}, {op.ndim})) {{")
    for text, used in checks:
        ix, own = (unit.table("int", [values[k] for k in used]) for values in (slots, ranks))
        unit.call(f"tr_check_draws(&g, v, {ix}, {own}, {len(used)}, {unit.kernel(text)})")
    if op.sampler == "integers":
        unit.line("}")
    unit.call(f"tr_alloc(v + {o}, {op.ndim + len(draw_core)}, {ctype(node.outputs[1]).size})")
    _draw(op, node, unit, slots, ranks)
    unit.call(f"tr_close_generator(&g, v + {after}, v[{source}].n[0])")
    unit.line("}")


def _packed(unit: Unit, x: TensorVariable) -> int:
    """Return the position of a parameter with contiguous vectors, which is a copy if its own are not contiguous."""
    source, copy = unit.slot(x), unit.scratch()
    unit.line(f"v[{copy}].p = v[{source}].p;")
    unit.line(f"memcpy(v[{copy}].n, v[{source}].n, sizeof v[{source}].n);")
    unit.line(f"memcpy(v[{copy}].s, v[{source}].s, sizeof v[{source}].s);")
    unit.line(f"if (v[{source}].n[{x.type.ndim - 1}] != 1 && v[{source}].s[{x.type.ndim - 1}] != 8)")
    unit.call(f"tr_copy(v + {copy}, v + {source}, {x.type.ndim}, 8, tr_move8)")
    return copy


def _checks(op: GeneratorDraws, parameters: Sequence[TensorVariable], vectors: bool) -> list[tuple[str, list[int]]]:
    """Return the kernels that check parameters, each with the numbers of the parameters that it reads."""
    conditions = (_VECTORS[op.sampler][1],) if vectors else SAMPLER_CONDITIONS.get(op.sampler, ())
    kernels = []
    for condition in filter(None, conditions):
        used = [k for k in range(len(parameters)) if re.search(rf"\b{_NAMES[k]}\b", condition)]
        tested = _CONDITION.sub(r"tr_\1(", condition)
        kernels.append((_kernel(op, parameters, used, [f"if (!({tested})) return TR_PARAMETER;"]), used))
    return kernels


def _kernel(
    op: GeneratorDraws, parameters: Sequence[TensorVariable], used: Sequence[int], body: Sequence[str], result: str = ""
) -> str:
    """Return a kernel that runs statements on some parameters and, if `result` is its C type, on the result `y`.

    Values that do not change are local variables: as far as the compiler knows, a sampler may change any memory.
    """
    parameter_cores, _ = op.cores
    before = ["const int64_t m = g->core;"] if any(parameter_cores) else []
    lines = []
    for at, k in enumerate(used, start=1):
        name, kind = _NAMES[k], f"const {ctype(parameters[k]).stored}"
        if not parameters[k].type.ndim:
            before.append(f"{kind} {name} = *({kind} *)p[{at}];")
            continue
        before.append(f"const char *const p_{name} = p[{at}]; const int64_t s_{name} = s[{at}];")
        place = f"({kind} *)(p_{name} + i * s_{name})"
        lines.append(f"{kind} *const {name} = {place};" if parameter_cores[k] else f"{kind} {name} = *{place};")
    if result:
        at = len(used) + 1
        before.append(f"char *const p_y = p[{at}]; const int64_t s_y = s[{at}];")
        lines.append(f"{result} *const y = ({result} *)(p_y + i * s_y);")
    return _KERNEL.substitute(before="\n  ".join(before), lines="\n    ".join([*lines, *body]))


def _draw(op: GeneratorDraws, node: TensorNode, unit: Unit, slots: Sequence[int], ranks: Sequence[int]) -> None:
    """Write the calls that draw into the result."""
    _, _, parameters = op.parts(node.inputs)
    kind, o, single = ctype(node.outputs[1]), unit.slot(node.outputs[1]), op.dtype == "float32"
    count = f"tr_count(v + {o}, {op.ndim})"
    if op.sampler in _FILLS:
        name = f"{_FILLS[op.sampler]}{'_f' if single else ''}"
        unit.line(with_samplers(unit, f"{name}(&g, {count}, v[{o}].p);"))
        return
    if op.sampler == "integers" and not any(ranks):
        # Bounds that are arrays, even of one element, are handled draw by draw, below.
        a, b = (f"*(const uint64_t *)v[{at}].p" for at in slots)
        fill = f"random_bounded_uint64_fill(&g, {a}, {b} - {a} - 1, {count}, 0, v[{o}].p);"
        unit.line(f"if ({count}) {with_samplers(unit, fill)}")
        return
    if op.sampler in _VECTORS:
        drawn = _VECTORS[op.sampler][0]
    else:
        names = "".join(f", {'(float)' if single else ''}{name}" for name in _NAMES[: len(parameters)])
        drawn = _DRAWS.get(op.sampler, f"random_{op.sampler}{'_f' if single else ''}(g{names})")
        drawn = f"*y = ({kind.stored}){drawn};"
    text = _kernel(op, parameters, range(len(parameters)), [drawn], kind.stored)
    kernel = unit.kernel(with_samplers(unit, text))
    ix, own = (unit.table("int", values) for values in ([*slots, o], [*ranks, op.ndim]))
    unit.call(f"tr_draws(&g, v, {ix}, {own}, {len(slots) + 1}, {op.ndim}, v[{o}].n, {kernel})")
