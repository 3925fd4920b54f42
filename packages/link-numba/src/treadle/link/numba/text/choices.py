"""Writing a choice: a test, and in each branch the call of its function and assignments of the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from treadle.config import dataclass
from treadle.graph import Apply, Variable
from treadle.link.numba.text.unit import indented
from treadle.link.numba.text.values import ArrayValue, ScalarValue, Value
from treadle.link.numba.text.writer import GraphWriter


@dataclass(frozen=True, slots=True)
class Arm:
    """One branch: the statements that run it, and the values it results in."""

    lines: list[str]
    values: list[Value]


def write_choice(writer: GraphWriter, node: Apply, arms: Sequence[Arm]) -> None:
    """Write a test of the condition; each branch has its statements, then assignments of the node's outputs."""
    first, second = (list(arm.lines) for arm in arms)
    held = _held(writer, arms)
    for out, a, b in zip(node.outputs, arms[0].values, arms[1].values, strict=True):
        chosen = _either(writer, out, a, b)
        # Where nothing else needs either of the two buffers, the chosen one is moved to a slot for the output.
        moved = all(isinstance(x, ArrayValue) and x.fills_one_buffer and held[x.slots[0]] == 1 for x in (a, b))
        if moved and isinstance(chosen, ArrayValue):
            chosen = replace(chosen, slots=(writer.scratch(1),))
        for lines, value in ((first, a), (second, b)):
            lines += [f"{name} = {text}" for name, text in zip(chosen.texts(), value.texts(), strict=True)]
            if moved and isinstance(chosen, ArrayValue) and isinstance(value, ArrayValue):
                lines.append(f"move(frame, {chosen.slots[0]}, {value.slots[0]})")
        if isinstance(chosen, ArrayValue):
            chosen = replace(chosen, dims=writer.known_dims(out, chosen.dims))
        writer.bind(out, chosen)
    condition = writer.scalar(node.inputs[0])
    writer.add(f"if {condition} != 0:", *indented(first), "else:", *indented(second))


def _held(writer: GraphWriter, arms: Sequence[Arm]) -> Counter[int]:
    """Return how many values use each buffer, among values outside of the choice and results of its branches."""
    values = [*writer.values.values(), *(value for arm in arms for value in arm.values)]
    return Counter(slot for value in values if isinstance(value, ArrayValue) for slot in value.slots)


def _either(writer: GraphWriter, out: Variable, a: Value, b: Value) -> Value:
    """Return the value of an output, with new names that either branch assigns."""
    storage = writer.storage(out)
    if isinstance(a, ScalarValue) or isinstance(b, ScalarValue):
        return ScalarValue(writer.name(code=storage.code), storage)
    return ArrayValue(
        writer.name(),
        tuple(writer.name("n") for _ in a.dims),
        tuple(writer.name("s") for _ in a.dims),
        storage,
        tuple(dict.fromkeys((*a.slots, *b.slots))),
        packed=a.packed and b.packed,
        certain=a.certain and b.certain and bool(a.slots) == bool(b.slots),
    )
