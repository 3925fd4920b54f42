"""Writes into shared values that leave these as they were where a check fails: such values need not be copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from treadle.config import dataclass
from treadle.graph import Variable
from treadle.tensor import AdvancedIncSubtensor, IncSubtensor

if TYPE_CHECKING:
    from treadle.link.jax.programs.tracing import Arm, Choice, Step


@dataclass(frozen=True, slots=True)
class Writes:
    """The steps of a graph around its writes: what goes before, the writes, and what needs what they write.

    All checks of the first two are made before anything is written.
    """

    before: tuple[Step | Choice, ...]
    writes: tuple[Step, ...]
    after: tuple[Step | Choice, ...]
    # Positions of the outputs that are written.
    outputs: tuple[int, ...]


def writes_of(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    steps: Sequence[Step | Choice],
    replaced: Sequence[tuple[int, int]],
) -> Writes | None:
    """Return the writes of parts of inputs, whose outputs take their place; None if there are none.

    `replaced` are positions of inputs, each with that of the output.
    """
    by_output: dict[Variable, Step] = {}
    for step in steps:
        if isinstance(step.node.op, IncSubtensor | AdvancedIncSubtensor) and getattr(step, "keeping", None) is not None:
            by_output[step.node.outputs[0]] = cast("Step", step)
    writes: dict[Step, None] = {}
    written: list[int] = []
    for at, out in replaced:
        var = outputs[out]
        chain: list[Step] = []
        while var in by_output:
            chain.append(by_output[var])
            var = chain[-1].node.inputs[0]
        if chain and var is inputs[at]:
            writes |= dict.fromkeys(chain)
            written.append(out)
    if not writes:
        return None
    changed = {v for step in writes for v in step.node.outputs}
    after: list[Step | Choice] = []
    for step in steps:
        if step not in writes and not changed.isdisjoint(taken(step)):
            after.append(step)
            changed.update(step.node.outputs)
    if any(not changed.isdisjoint(step.node.inputs[1:]) for step in writes):
        return None
    order = tuple(step for step in steps if step in writes)
    before = tuple(step for step in steps if step not in writes and step not in after)
    return Writes(before, order, tuple(after), tuple(written))


def taken(step: Step | Choice) -> set[Variable]:
    """Return the variables that a step takes; those inside of branches too."""
    arms: Sequence[Arm] = getattr(step, "arms", ())
    inside = [v for arm in arms for v in (*arm.results, *(x for inner in arm.steps for x in taken(inner)))]
    return {*step.node.inputs, *inside}
