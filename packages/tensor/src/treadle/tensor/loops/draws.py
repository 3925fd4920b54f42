"""Which outputs of loops depend on draws inside, over any number of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.ops.undefined_draws import inner_influences, inner_reasons

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.loops.loops import Scan
    from treadle.tensor.ops.undefined_draws import Reasons


def over_steps(op: Scan, step: Sequence[Sequence[bool]]) -> list[list[bool]]:
    """Return what inputs of a loop reach in any number of steps, from what those of its body reach in one.

    Each input but the number of steps has a row, with a truth value for each output. This is Warshall's transitive
    closure by way of the carries.
    """
    rows = [list(row) for row in step]
    own = rows[op.n_sequences : op.n_sequences + op.n_carries]
    for k, onward in enumerate(own):
        for row in rows:
            if row[k]:
                row[:] = [a or b for a, b in zip(row, onward, strict=True)]
    for k, row in enumerate(own):
        row[k] = True
    return rows


def influences(op: Scan) -> list[list[bool]]:
    """Return for each input of a loop but the number of steps, for each output, whether its value decides it."""
    return op.kept("_influences", lambda: _influences(op))


def _influences(op: Scan) -> list[list[bool]]:
    rows = over_steps(op, inner_influences(op.fgraph.inputs, op.fgraph.outputs))
    # The condition decides how many steps there are, and so everything.
    return [[True] * len(row) if op.has_until and row[-1] else row for row in rows]


def reasons(op: Scan, connected: Sequence[Sequence[bool]]) -> Reasons | None:
    """Return why outputs of a loop have no derivative by its inputs, except by the number of steps.

    `connected` says whether a gradient flows from each input to each output, in any number of steps.
    """
    return op.kept("_reasons", lambda: _reasons(op, connected))


def _reasons(op: Scan, connected: Sequence[Sequence[bool]]) -> Reasons | None:
    step = inner_reasons(op.fgraph.inputs, op.fgraph.outputs)
    if step is None:
        return None
    first, onward = op.n_sequences, influences(op)
    carries = range(op.n_carries)
    reasons_of_inputs: Reasons = []
    for i, row in enumerate(connected):
        why: list[str | None] = [None] * len(row)
        # An input reaches the draw of a later step by way of the carries.
        for own in (step[i], *(step[first + k] for k in carries if row[k])):
            for o, text in enumerate(own):
                if text is None:
                    continue
                decided = onward[first + o] if o < op.n_carries else [n == o for n in range(len(row))]
                if op.has_until and o == len(row) - 1:
                    decided = [True] * len(row)
                why = [
                    old or (text if hit or n == o else None)
                    for n, (old, hit) in enumerate(zip(why, decided, strict=True))
                ]
        reasons_of_inputs.append(why)
    return reasons_of_inputs
