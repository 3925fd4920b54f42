"""Rules for indexing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.conversion import constant
from treadle.tensor.dimshuffle import DimShuffle
from treadle.tensor.index import At, Span
from treadle.tensor.indexing import Subtensor
from treadle.tensor.joining import Join
from treadle.tensor.scalar.cast import cast
from treadle.tensor.shape import Shape, shape_i

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable

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
