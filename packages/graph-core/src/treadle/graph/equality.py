"""Whether two graphs compute the same thing in the same way."""

from __future__ import annotations

from _blake2 import blake2b  # see treadle.graph.encoding
from typing import TYPE_CHECKING

from treadle.graph.encoding import encode
from treadle.graph.traversal import toposort
from treadle.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph.apply import Apply


def equal_computations(
    xs: Sequence[Variable],
    ys: Sequence[Variable],
    in_xs: Sequence[Variable] = (),
    in_ys: Sequence[Variable] = (),
    strict_dtype: bool = True,
) -> bool:
    """Whether `ys` are computed from `in_ys` as `xs` are from `in_xs`.

    Parameters
    ----------
    xs, ys
        Outputs, compared one by one.
    in_xs, in_ys
        Inputs, matched one by one; all other variables without owner must be identical or equal constants.
    strict_dtype
        Whether the types of matched inputs must be equal.

    Notes
    -----
    A graph that computes something twice equals one that computes it once and uses it twice.
    """
    if len(xs) != len(ys) or len(in_xs) != len(in_ys):
        return False
    given: dict[Variable, Variable] = dict(zip(in_xs, in_ys, strict=True))
    if strict_dtype and any(a.type != b.type for a, b in given.items()):
        return False
    given_ys = set(given.values())
    seen: set[tuple[Variable, Variable]] = set()
    pending = list(zip(xs, ys, strict=True))
    while pending:
        pair = x, y = pending.pop()
        if pair in seen or given.get(x) is y:
            continue
        seen.add(pair)
        if x in given or (y in given_ys and y.owner is None):
            return False
        if x.owner is None or y.owner is None:
            if not _same_atom(x, y):
                return False
        elif not _same_node(x, y):
            return False
        else:
            pending.extend(zip(x.owner.inputs, y.owner.inputs, strict=True))
    return True


def _same_atom(x: Variable, y: Variable) -> bool:
    if isinstance(x, Constant) and isinstance(y, Constant):
        return x.equals(y)
    return x is y


def _same_node(x: Variable, y: Variable) -> bool:
    a, b = x.owner, y.owner
    return (
        a is not None
        and b is not None
        and x.index == y.index
        and x.type == y.type
        and len(a.inputs) == len(b.inputs)
        and a.op == b.op
    )


def graph_key(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> str:
    """Return a structural digest of a graph, the same in every process for equal graphs.

    Inputs count by position and type, constants by value, ops by their static parameters; names and lines do not
    count.

    Raises
    ------
    GraphTypeError
        If an op or constant has no canonical encoding.
    """
    position: dict[Variable, int] = {}
    hasher = blake2b(digest_size=32)

    def add(var: Variable, text: bytes) -> None:
        position[var] = len(position)
        hasher.update(text)
        hasher.update(encode(var.type))

    for var in inputs:
        add(var, b"|input ")
    for node in toposort(outputs, inputs):
        _hash_node(node, position, hasher.update, add)
    for out in outputs:
        if out not in position:
            add(out, b"|constant " + out.signature() if isinstance(out, Constant) else b"|free ")
        hasher.update(b"|output %d" % position[out])
    return hasher.hexdigest()


def _hash_node(
    node: Apply, position: dict[Variable, int], update: Callable[[bytes], None], add: Callable[[Variable, bytes], None]
) -> None:
    for var in node.inputs:
        if var not in position:
            add(var, b"|constant " + var.signature() if isinstance(var, Constant) else b"|free ")
    places = b",".join(b"%d" % position[v] for v in node.inputs)
    update(b"|node " + node.op.canonical() + b" of " + places)
    for out in node.outputs:
        add(out, b"|result ")
