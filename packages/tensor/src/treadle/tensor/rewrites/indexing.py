"""Rules for indexing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.conversion import constant
from treadle.tensor.dimshuffle import DimShuffle
from treadle.tensor.index import At, Span, Symbolic
from treadle.tensor.indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from treadle.tensor.joining import Join
from treadle.tensor.scalar.cast import cast
from treadle.tensor.shape import Shape, shape_i

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Variable
    from treadle.tensor.index import Entry

RULES = RuleSet("indexing")
BOTH = ("fast_run", "fast_compile")
EARLY_AND_LATE = (Phase.CANONICALIZE, Phase.SPECIALIZE)


def _takes_all(entry: Any, n: int | None) -> bool:
    """Whether an entry takes a whole dimension, in order."""
    if not isinstance(entry, Span):
        return False
    if entry.is_full:
        return True
    starts, steps = entry.start in {None, 0}, entry.step in {None, 1}
    return starts and steps and isinstance(entry.stop, int) and n is not None and entry.stop >= n


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=BOTH, depth=1)
def subtensor_of_everything(node: Apply) -> Variable | None:
    """x[:, :] -> x."""
    op: Any = node.op
    x: Any = node.inputs[0]
    return node.inputs[0] if all(map(_takes_all, op.entries, x.type.shape)) else None


def _single_position(node: Apply) -> int | None:
    """Return the position that a node takes from a vector, or None."""
    op: Any = node.op
    entries = op.entries
    if len(entries) != 1 or not isinstance(entries[0], At) or not isinstance(entries[0].value, int):
        return None
    return entries[0].value


def _with_constants(entries: Sequence[Entry], parts: Sequence[Variable]) -> tuple[tuple[Entry, ...], list[Variable]]:
    """Return entries with the constants among their symbolic parts written into them, and the parts left."""
    given = iter(parts)
    left: list[Variable] = []

    def bound(value: Any) -> Any:
        if not isinstance(value, Symbolic):
            return value
        var = next(given)
        if isinstance(var, Constant):
            return int(var.data)
        left.append(var)
        return value

    made: list[Entry] = []
    for entry in entries:
        if isinstance(entry, At):
            made.append(At(bound(entry.value)))
        elif isinstance(entry, Span):
            made.append(Span(bound(entry.start), bound(entry.stop), bound(entry.step)))
        else:
            left.append(next(given))
            made.append(entry)
    return tuple(made), left


@RULES.rule(EARLY_AND_LATE, Subtensor, AdvancedSubtensor, IncSubtensor, AdvancedIncSubtensor, tags=BOTH, depth=1)
def constant_positions(node: Apply) -> Variable | None:
    """x[i], i known -> x[its value]: shapes become known, and backends compile the index in."""
    op: Any = node.op
    first = 1 if isinstance(op, Subtensor | AdvancedSubtensor) else 2
    entries, left = _with_constants(op.entries, node.inputs[first:])
    if entries == op.entries or any(isinstance(e, Span) and e.step == 0 for e in entries):
        return None
    made: Variable = replace(op, entries=entries)(*node.inputs[:first], *left)
    return made if node.outputs[0].type.is_super(made.type) else None


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=BOTH)
def element_of_shape(node: Apply) -> Variable | None:
    """shape(x)[d] -> length of dimension d of x."""
    at, inner = _single_position(node), node.inputs[0].owner
    if at is None or inner is None or not isinstance(inner.op, Shape):
        return None
    return shape_i(inner.inputs[0], at)


@RULES.rule(EARLY_AND_LATE, Subtensor, tags=BOTH)
def element_of_join(node: Apply) -> Variable | None:
    """join(a, b, …)[i] -> the element of the part that it comes from."""
    at, inner = _single_position(node), node.inputs[0].owner
    if at is None or inner is None or not isinstance(inner.op, Join):
        return None
    parts: list[Any] = list(inner.inputs)
    sizes = [part.type.shape[0] for part in parts]
    if None in sizes:
        return None
    at = at + sum(sizes) if at < 0 else at
    for part, size in zip(parts, sizes, strict=True):
        if at < size:
            return cast(_element(part, at), getattr(node.outputs[0].type, "dtype", ""))
        at -= size
    return None


def _element(part: Any, at: int) -> Any:
    """Return an element of a vector; the scalar itself where the vector is one with a dimension added."""
    node = part.owner
    if node is not None and isinstance(node.op, DimShuffle) and node.op.order == ("x",):
        return node.inputs[0]
    data = getattr(part, "data", None)
    return part[at] if data is None else constant(data[at])
