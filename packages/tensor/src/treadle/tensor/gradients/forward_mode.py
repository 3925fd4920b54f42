"""Forward mode: how the results of a graph move when variables move in given directions.

Each node is visited once, and its op asked for its own rule, `Op.pushforward`. Where an op has none, its pullback gives
it: a pullback is linear in the cotangents, and its own pullback by these, for given directions, is the derivative in
these directions (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import (
    DisconnectedType,
    GraphTypeError,
    MethodNotDefinedError,
    NullType,
    Variable,
    as_flag,
    connections,
    note_op,
    toposort,
)
from treadle.tensor.errors import NullTypeGradError, ShapeError
from treadle.tensor.gradients.adding import summed
from treadle.tensor.gradients.reverse_mode import accumulate, is_absent, pulled_back
from treadle.tensor.ops.replacing import replaced
from treadle.tensor.ops.undefined_draws import moved_without_derivative
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.shape import shared_lengths
from treadle.tensor.types.conversion import as_tensor_variable, cotangent_of, is_smooth
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from treadle.graph import Apply


def jvp(
    outputs: Sequence[Variable],
    wrt: Sequence[Variable],
    tangents: Sequence[Variable | None],
    use_op_pushforward: bool = True,
    constants: Collection[Variable] = frozenset(),
) -> list[Variable]:
    """Return how outputs move when variables move in given directions.

    A variable of `wrt` that is computed from others moves with them as well; `constants` do not. A tangent is None or
    of `DisconnectedType` where a variable does not move, and so is the result's type; it is `NullType` where the
    derivative is not defined. Without `use_op_pushforward` the gradient of all outputs is taken, and the gradient of
    that.
    """
    directions: dict[Variable, Variable] = {}
    for x, tangent in zip(wrt, tangents, strict=True):
        if tangent is not None and not isinstance(tangent.type, DisconnectedType):
            directions[x] = summed(directions.get(x), tangent)
    with shared_lengths():
        walked = _walked if as_flag("pushforward: use_op_pushforward", use_op_pushforward) else _through_pullbacks
        moved = walked(outputs, directions, constants)
    return [moved[out] if out in moved else DisconnectedType()() for out in outputs]


def defined(function: str, out: Variable, moved: Variable) -> Variable:
    """Return a derivative that `jvp` found, and refuse one that is not defined."""
    if isinstance(moved.type, NullType):
        msg = f"{function}: the derivative of {out} is not defined: {moved.type.why}."
        raise NullTypeGradError(msg)
    return moved


def _walked(
    outputs: Sequence[Variable], directions: Mapping[Variable, Variable], constants: Collection[Variable]
) -> Mapping[Variable, Variable]:
    """Return how all variables move that do, one node after the other."""
    moves = dict(directions)
    drawn: dict[Variable, Variable] = {}
    for node in toposort(outputs) if directions else ():
        drawn.update(moved_without_derivative(node, moves, drawn, constants))
        if any(x in moves for x in node.inputs):
            for out, tangent in zip(node.outputs, _pushed(node, moves), strict=True):
                if tangent is not None and out not in constants:
                    moves[out] = summed(directions.get(out), tangent)
    return {**moves, **drawn}


def _pushed(node: Apply, moves: Mapping[Variable, Variable]) -> Sequence[Variable | None]:
    """Return how the outputs of a node move with its inputs; None where they do not."""
    op, inputs, outputs = node.op, node.inputs, node.outputs
    tangents = [moves.get(x) for x in inputs]
    if any(t is not None and type(t.type) is not TensorType and isinstance(t.type, NullType) for t in tangents):
        return _undefined(node, tangents)
    try:
        derivatives = op.pushforward(inputs, outputs, tangents)
    except MethodNotDefinedError:
        derivatives = _pushed_by_pullbacks(node, tangents)
    except Exception as error:
        note_op(error, op, "pushforward", node.where())
        raise
    if len(derivatives) != len(outputs):
        msg = (
            f"{op}: the directional derivative must be a list with one term for each of {len(outputs)} outputs, "
            f"got {len(derivatives)}{node.where()}. Correct its pushforward (or R_op)."
        )
        raise GraphTypeError(msg)
    return [_checked(node, out, t) for out, t in zip(outputs, derivatives, strict=True)]


def _undefined(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Variable | None]:
    """Return the tangents of a node with an undefined input tangent: outputs it reaches have undefined ones too."""
    nulls = [None if t is None or not isinstance(t.type, NullType) else t for t in tangents]
    columns = zip(*connections(node), strict=True)
    undefined = [next((t for t, joined in zip(nulls, row, strict=True) if joined and t), None) for row in columns]
    moves = {x: t for x, t, null in zip(node.inputs, tangents, nulls, strict=True) if t is not None and null is None}
    if not moves or None not in undefined:
        return undefined
    # The other outputs move as if that input did not.
    return [other if t is None else t for t, other in zip(undefined, _pushed(node, moves), strict=True)]


def _checked(node: Apply, out: Variable, tangent: Variable | None) -> Variable | None:
    """Return a tangent in the dtype of the output; None where the output does not move."""
    if tangent is None or (type(tangent.type) is not TensorType and isinstance(tangent.type, DisconnectedType)):
        return None
    kind = out.type
    if not isinstance(kind, TensorType) or isinstance(tangent.type, NullType):
        # Only the package of such a type knows how its values move.
        return tangent
    if kind.numpy_dtype.kind not in "fc":
        return None
    var = as_tensor_variable(tangent)
    if var.ndim != kind.ndim:
        msg = (
            f"{node.op}: the directional derivative of {out} of type {kind} has rank {var.ndim}{node.where()}. "
            "It must have the output's rank. Correct the op's pushforward (or R_op)."
        )
        raise ShapeError(msg)
    return cotangent_of(out, var)  # type: ignore[arg-type]  # a tensor by its type, see above


# Through pullbacks


def _through_pullbacks(
    outputs: Sequence[Variable], directions: Mapping[Variable, Variable], constants: Collection[Variable]
) -> Mapping[Variable, Variable]:
    """Return how outputs move, from their gradient and the gradient of that."""
    cotangents = {out: out.type.make_variable() for out in outputs if is_smooth(out)}
    if not directions or not cotangents:
        return {}
    slopes = accumulate(dict(cotangents), list(directions), constants)
    return _transposed([(slopes[x], t) for x, t in directions.items() if x in slopes], cotangents, None)


def _pushed_by_pullbacks(node: Apply, tangents: Sequence[Variable | None]) -> list[Variable | None]:
    """Return how the outputs of a node move, from the op's pullback and the gradient of that."""
    rows = connections(node)
    moving = [t is not None and not is_absent(t) for t in tangents]
    cotangents = {
        out: out.type.make_variable()
        for o, out in enumerate(node.outputs)
        if is_smooth(out) and any(row[o] for row, hit in zip(rows, moving, strict=True) if hit)
    }
    if not cotangents:
        return [None] * len(node.outputs)
    terms = pulled_back(node, [cotangents.get(out) for out in node.outputs])
    pairs = [
        (term, t)
        for term, t, row in zip(terms, tangents, rows, strict=True)
        if term is not None and t is not None and any(row)
    ]
    moved = _transposed(pairs, cotangents, [*node.inputs, *node.outputs])
    return [moved.get(out) for out in node.outputs]


def _transposed(
    pairs: Iterable[tuple[Variable, Variable]],
    cotangents: Mapping[Variable, Variable],
    blockers: Collection[Variable] | None,
) -> dict[Variable, Variable]:
    """Return the derivatives of outputs, from pairs of gradients by variables that move and their directions.

    The gradients are linear in the cotangents. Behind `blockers` stands no cotangent.
    """
    seeds: dict[Variable, Variable] = {}
    for slope, tangent in pairs:
        if isinstance(slope.type, NullType):
            return dict.fromkeys(cotangents, slope)
        if not isinstance(slope.type, DisconnectedType):
            seeds[slope] = summed(seeds.get(slope), tangent)
    if not seeds:
        return {}
    flowed = accumulate(seeds, list(cotangents.values()), blockers=blockers)
    terms = {out: flowed[ct] for out, ct in cotangents.items() if ct in flowed}
    moved = {out: term for out, term in terms.items() if not isinstance(term.type, DisconnectedType)}
    # The cotangents that are left do not matter: gradients are linear in them.
    zero = {ct: zeros_like(out) for out, ct in cotangents.items()}
    return dict(zip(moved, replaced(list(moved.values()), zero, blockers), strict=True))
