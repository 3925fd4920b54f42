"""Bringing a simpler value to the dtype, the rank and the shape of what it takes the place of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.dimshuffle import shape_padleft
from treadle.tensor.rewrites.analysis.symbolic_shapes import ONE, table_of
from treadle.tensor.scalar.cast import cast, second

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.symbolic_shapes import Length, LengthTable


def broadcast_lengths(table: LengthTable, *variables: Variable) -> tuple[Length | None, ...]:
    """Return the lengths that variables broadcast to, those of lower rank padded in front."""
    each = [table.of(v) for v in variables]
    ndim = max(map(len, each))
    padded = [(ONE,) * (ndim - len(own)) + own for own in each]
    return tuple(table.broadcast(at) for at in zip(*padded, strict=True))


def fitted(out: Variable, value: Any) -> Variable | None:
    """Return a value in an output's dtype and rank, or None if its type neither equals nor refines the output's."""
    kind: Any = out.type
    if value.ndim > kind.ndim:
        return None
    result = cast(value, kind.dtype)
    if result.ndim < kind.ndim:
        result = shape_padleft(result, kind.ndim - result.ndim)
    return result if kind.is_super(result.type) else None


def spread(fgraph: FunctionGraph, out: Variable, value: Any, dropped: Iterable[Variable]) -> Variable | None:
    """Return a value in the dtype and shape of an output that was computed from it and from dropped operands.

    A dropped operand may have widened the output: unless lengths are known to be the same, the value is spread over
    it at run time.
    """
    kind: Any = out.type
    if value.ndim > kind.ndim:
        return None
    result: Any = cast(value, kind.dtype)
    if result.ndim < kind.ndim:
        result = shape_padleft(result, kind.ndim - result.ndim)
    table = table_of(fgraph)
    wanted = table.of(out)
    own: tuple[Length | None, ...] = table.of(result)
    for other in dropped:
        if own == wanted:
            break
        together = broadcast_lengths(table, result, other)
        if together != own:
            result = second(other, result)
            own = table.of(result)
    return result if kind.is_super(result.type) else None
