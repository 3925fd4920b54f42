"""jvp: directional derivatives of a graph from its gradients.

The gradient is linear in the cotangents, and its own gradient by these, for given directions, is the derivative in
these directions (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import DisconnectedType, NullType, Variable, graph_replace
from treadle.tensor.broadcasting import zeros_like
from treadle.tensor.reverse_mode import grad
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence


def jvp(
    outputs: Sequence[Variable], wrt: Sequence[Variable], tangents: Sequence[Variable | None]
) -> list[Variable | None]:
    """Return how outputs move when variables move in given directions.

    Parameters
    ----------
    outputs
        What is computed.
    wrt
        The variables that move.
    tangents
        The direction of each, of its type; None or a variable of `DisconnectedType` where it does not move.

    Returns
    -------
    For each output the derivative, of its shape, or a variable of `DisconnectedType` where it does not move.
    """
    moves = [(x, t) for x, t in zip(wrt, tangents, strict=True) if t is not None and not _is_absent(t)]
    result: list[Variable | None] = []
    for out in outputs:
        found = _one(out, moves) if moves and _is_smooth(out) else None
        result.append(DisconnectedType()() if found is None else found)
    return result


def _is_absent(var: Variable) -> bool:
    return isinstance(var.type, DisconnectedType | NullType)


def _is_smooth(var: Variable) -> bool:
    return isinstance(var.type, TensorType) and var.type.numpy_dtype.kind in "fc"


def _one(out: Variable, moves: Sequence[tuple[Variable, Variable]]) -> Variable | None:
    for x, t in moves:
        if out is x:
            return t
    cotangent = out.type.make_variable()
    gradients = grad(
        None, [x for x, _ in moves], known_grads={out: cotangent}, disconnected_inputs="ignore",
        return_disconnected="disconnected", null_gradients="return", add_names=False,
    )  # fmt: skip
    seeds: dict[Variable, Any] = {}
    for g, (_, t) in zip(gradients, moves, strict=True):
        if not _is_absent(g):
            seeds[g] = seeds[g] + t if g in seeds else t
    if not seeds:
        return None
    found = grad(
        None, cotangent, known_grads=seeds, disconnected_inputs="ignore", return_disconnected="disconnected",
        add_names=False,
    )  # fmt: skip
    if _is_absent(found):
        return None
    # What is left of the cotangent is multiplied by 0 only in name: the gradient is linear in it.
    made: Variable = graph_replace(found, {cotangent: zeros_like(out)}, strict=False)
    return made
