"""Loops and choices as compiling backends take them: states in place of generators, bodies of simpler ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import FunctionGraph, graph_replace
from treadle.tensor.linking.generator_forms import are_portable, forms_of
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.parts import LoopParts
from treadle.tensor.loops.states import choice_of_states, chooses_generators, is_generator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Variable
    from treadle.tensor.linking.generator_forms import Source


def expand_with_loops(
    simpler: FunctionGraph,
    expanded: Callable[[FunctionGraph], FunctionGraph],
    of_body: Callable[[FunctionGraph], FunctionGraph],
) -> FunctionGraph:
    """Return an expanded graph with bodies of loops as `of_body` returns them, and states in place of generators.

    If that changes it, it is expanded again: only then does a draw from a generator that a loop returns find its state.

    Where draws are portable ones, a generator of NumPy's gives one key before the loop, and moves on by that; the draws
    inside are those of a portable generator with this key. A loop stays as it is if its body does more with a generator
    than to draw from it.

    A choice between generators becomes one between their states, where both were made like one generator.
    """
    if not any(isinstance(node.op, Scan) or chooses_generators(node) for node in simpler.apply_nodes):
        return simpler
    result = simpler.clone()
    changed = False
    for node in result.toposort():
        outputs: Sequence[Variable] | None = None
        if isinstance(node.op, Scan):
            outputs = _expanded_loop(node.op, node, of_body)
        elif chooses_generators(node):
            outputs = None if are_portable() else choice_of_states(node)
        if outputs is not None:
            result.replace_all(zip(node.outputs, outputs, strict=True), reason="expand")
            changed = True
    return expanded(result) if changed else simpler


def with_states(graph: FunctionGraph, expanded: Callable[[FunctionGraph], FunctionGraph]) -> FunctionGraph:
    """Return an expanded graph that takes and returns the states of generators, in place of generators."""
    inputs = list(graph.inputs)
    drawn: dict[Variable, Variable] = {}
    for at, var in enumerate(graph.inputs):
        forms = forms_of(var.type) if is_generator(var.type) else None
        if forms is not None:
            inputs[at] = forms.source_of(var).state.type.make_variable(var.name)
            drawn[var] = forms.in_state(var.type, inputs[at])
    if not drawn:
        return expanded(graph)
    after = expanded(FunctionGraph(inputs, graph_replace(graph.outputs, drawn, strict=False)))
    outputs = list(after.outputs)
    for at, var in enumerate(outputs):
        forms = forms_of(var.type) if is_generator(var.type) else None
        if forms is not None and var.owner is not None and forms.makes_generator(var.owner.op):
            outputs[at] = var.owner.inputs[-1]
    return expanded(FunctionGraph(after.inputs, outputs))


def _expanded_loop(
    op: Scan, node: Apply, expanded: Callable[[FunctionGraph], FunctionGraph]
) -> Sequence[Variable] | None:
    """Return the outputs of the loop in the new form; None where it is in this form, or there is none."""
    parts = LoopParts.of(op, node.inputs)
    drawn: dict[Variable, Variable] = {}
    sources: dict[int, Source] = {}
    for outer, inner in (parts.starts, parts.carries), (parts.givens, parts.constants):
        for at, (rng, var) in enumerate(zip(outer, inner, strict=True)):
            forms = forms_of(rng.type) if is_generator(rng.type) else None
            if forms is not None:
                source = forms.source_of(rng)
                if inner is parts.carries:
                    sources[at] = source
                outer[at], inner[at] = source.state, source.state.type.make_variable(var.name)
                drawn[var] = forms.in_state(var.type, inner[at])
    parts.replace(drawn)
    before = FunctionGraph(parts.inputs, parts.outputs, clone=False)
    after = expanded(before)
    if after is before and not drawn:
        return None
    outputs = list(after.outputs)
    for j in sources:
        maker, forms = outputs[j].owner, forms_of(outputs[j].type)
        if maker is None or forms is None or not forms.makes_generator(maker.op):
            return None
        outputs[j] = maker.inputs[-1]
    body = FunctionGraph(after.inputs, outputs)
    if drawn and any(is_generator(x.type) for x in body.variables):
        return None
    expanded_node = op.with_inner_graph(body).make_node(parts.steps, *parts.sequences, *parts.starts, *parts.givens)
    expanded_node.user_line = node.user_line
    results = list(expanded_node.outputs)
    for j, source in sources.items():
        results[j] = source.after(results[j])
    return results
