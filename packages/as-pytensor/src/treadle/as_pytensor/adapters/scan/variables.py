"""Variables of loops: copies of them, and graphs with others in their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant, Variable, ancestors, equal_computations, graph_replace
from treadle.tensor import as_tensor_variable, cast
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence


class InnerFunctionError(Exception):
    """A step of a loop failed."""


def safe_new(x: Any, tag: str = "", dtype: Any = None) -> Any:
    """Return a new variable of the type of another; of a constant, the constant.

    Parameters
    ----------
    x
        A variable, or a value that becomes a tensor.
    tag
        Put behind the name.
    dtype
        The dtype of the new variable, where it is a tensor; that of `x` if None.
    """
    name = getattr(x, "name", None)
    if not isinstance(x, Variable):
        x = as_tensor_variable(x)
    if dtype is not None and isinstance(x.type, TensorType) and x.type.dtype != str(dtype):
        x = cast(x, dtype)
        if x.owner is not None and isinstance(x.owner.inputs[0], Constant):
            source = x.owner.inputs[0]
            return x.type.make_constant(source.data.astype(x.type.dtype), name)
    if isinstance(x, Constant):
        return x
    return x.type.make_variable(None if name is None else f"{name}{tag}")


def reconstruct_graph(
    inputs: Sequence[Variable], outputs: Sequence[Variable], tag: str | None = None
) -> tuple[list[Variable], list[Variable]]:
    """Return new variables in place of inputs, and the outputs computed from these.

    Parameters
    ----------
    inputs, outputs
        Those of a graph.
    tag
        Put behind the names of inputs.
    """
    fresh = [safe_new(x, tag or "") for x in inputs]
    pairs = {old: new for old, new in zip(inputs, fresh, strict=True) if old is not new}
    return fresh, graph_replace(list(outputs), pairs, strict=False)


def forced_replace(out: Variable | None, x: Variable, y: Variable) -> Variable | None:
    """Return a graph in which what computes the same as one variable is replaced by another.

    Parameters
    ----------
    out
        The graph; None returns None.
    x, y
        What is replaced, and what takes its place.
    """
    if out is None:
        return None
    same: dict[Variable, Variable] = {}
    pending, seen = [out], {out}
    while pending:
        var = pending.pop()
        if var.type == x.type and equal_computations([var], [x]):
            same[var] = y
        elif var.owner is not None:
            fresh = [other for other in var.owner.inputs if other not in seen]
            seen.update(fresh)
            pending += fresh
    if not same:
        return out
    if out in same:
        return y
    inside = {var: new for var, new in same.items() if var in set(ancestors([out]))}
    return graph_replace([out], inside, strict=False)[0]
