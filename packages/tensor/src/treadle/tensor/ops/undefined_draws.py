"""Draws that have no derivative, and what depends on their values.

The draw of a discrete distribution jumps as its parameters move. Most draws are integers, to which no gradient flows,
so that a gradient by the parameters would silently lack them. This module finds what depends on their values, also by
way of integers, comparisons and positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import NullType, Variable, connections, toposort
from treadle.tensor.types.conversion import is_smooth

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from treadle.graph import Apply
    from treadle.tensor.embedding.frozen_inner import HasFrozenGraph

# For each input of a node, for each output, why the output has no derivative by the input; None where it has.
Reasons = list[list["str | None"]]


def influences(node: Apply) -> list[list[bool]]:
    """Return for each input of a node, for each output, whether the input's value decides the output's."""
    known = node.op.influence_pattern(node)
    if known is not None:
        return known
    # Where an op says that nothing flows between floats, it means it.
    jumps = [not is_smooth(out) for out in node.outputs]
    return [
        [joined or jump or not is_smooth(x) for joined, jump in zip(row, jumps, strict=True)]
        for x, row in zip(node.inputs, connections(node), strict=True)
    ]


def null_terms(
    order: Sequence[Apply],
    patterns: Collection[Apply],
    reached: Collection[Variable],
    seeds: Collection[Variable],
    constants: Collection[Variable],
) -> Mapping[Apply, list[Variable | None]]:
    """Return for nodes whose draws decide a cost, by input, the gradient that is not defined.

    `order` has the nodes behind the cost in order of evaluation, `patterns` those that a target leads through,
    `reached` the variables that a target leads to. `seeds` hold the cost; nothing flows back through `constants`.
    """
    drawing = {node: reasons for node in patterns if (reasons := node.op.undefined_derivatives(node)) is not None}
    if not drawing:
        return {}
    # Variables whose values decide the cost.
    deciding = set(seeds).difference(constants)
    terms: dict[Apply, list[Variable | None]] = {}
    for node in reversed(order):
        live = [o for o, out in enumerate(node.outputs) if out in deciding]
        if not live:
            continue
        for x, decides in zip(node.inputs, influences(node), strict=True):
            if x not in constants and any(decides[o] for o in live):
                deciding.add(x)
        if node in drawing:
            rows = zip(node.inputs, drawing[node], strict=True)
            why = [
                next((row[o] for o in live if row[o] is not None), None) if x in reached else None for x, row in rows
            ]
            if any(why):
                terms[node] = [None if text is None else NullType(text)() for text in why]
    return terms


def moved_without_derivative(
    node: Apply, moves: Mapping[Variable, Variable], drawn: Mapping[Variable, Variable], constants: Collection[Variable]
) -> dict[Variable, Variable]:
    """Return the outputs of a node that depend on draws without derivatives, each with the reason as its tangent.

    `moves` has the variables that move with their tangents, `drawn` those that depend on such draws; `constants` do not
    move with what they are computed from.
    """
    undefined: dict[Variable, Variable] = {}
    if any(x in drawn for x in node.inputs):
        for x, decides in zip(node.inputs, influences(node), strict=True):
            if x in drawn:
                undefined.update((out, drawn[x]) for out, joined in zip(node.outputs, decides, strict=True) if joined)
    reasons = node.op.undefined_derivatives(node) if any(x in moves for x in node.inputs) else None
    for x, row in zip(node.inputs, reasons or (), strict=False):
        if x in moves:
            undefined.update(
                (out, NullType(text)()) for out, text in zip(node.outputs, row, strict=True) if text is not None
            )
    return {out: null for out, null in undefined.items() if out not in constants}


def own_influences(op: HasFrozenGraph) -> list[list[bool]]:
    """Return for each input of an op's graph, for each output, whether its value decides the output's; cached."""
    return op.kept("_influences", lambda: inner_influences(op.fgraph.inputs, op.fgraph.outputs))


def own_reasons(op: HasFrozenGraph) -> Reasons | None:
    """Return for each input of an op's graph, for each output, why it has no derivative; cached."""
    return op.kept("_reasons", lambda: inner_reasons(op.fgraph.inputs, op.fgraph.outputs))


def inner_influences(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> list[list[bool]]:
    """Return for each input of a graph, for each output, whether its value decides the output's."""
    bits: dict[Variable, int] = {}
    for i, x in enumerate(inputs):
        bits[x] = bits.get(x, 0) | 1 << i
    for node in toposort(outputs, inputs):
        rows = influences(node)
        for o, out in enumerate(node.outputs):
            own = 0
            for x, row in zip(node.inputs, rows, strict=True):
                if row[o]:
                    own |= bits.get(x, 0)
            bits.setdefault(out, own)
    return [[bool(bits.get(out, 0) >> i & 1) for out in outputs] for i in range(len(inputs))]


def inner_reasons(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Reasons | None:
    """Return for each input of a graph, for each output, why it has no derivative; None if there is no such draw."""
    # By variable, the inputs that a gradient may reach it from; and by draw without derivative, inputs and the reason.
    reach: dict[Variable, set[int]] = {}
    for i, x in enumerate(inputs):
        reach.setdefault(x, set()).add(i)
    order = list(toposort(outputs, inputs))
    behind: dict[Variable, dict[int, str]] = {}
    for node in order:
        pattern, decides = None, None
        reasons = node.op.undefined_derivatives(node)
        for o, out in enumerate(node.outputs):
            why: dict[int, str] = {}
            for k, x in enumerate(node.inputs):
                if x in behind:
                    decides = decides or influences(node)
                    if decides[k][o]:
                        why = {**behind[x], **why}
                if x in reach:
                    pattern = pattern or connections(node)
                    if pattern[k][o]:
                        reach.setdefault(out, set()).update(reach[x])
                    text = None if reasons is None else reasons[k][o]
                    if text is not None:
                        why = {**dict.fromkeys(reach[x], text), **why}
            if why:
                behind[out] = why
    if not any(out in behind for out in outputs):
        return None
    return [[behind.get(out, {}).get(i) for out in outputs] for i in range(len(inputs))]
