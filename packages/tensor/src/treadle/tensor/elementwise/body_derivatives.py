"""Derivatives of elementwise functions that have a body: through the functions that it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import NullType, toposort
from treadle.tensor.ops.replacing import replaced
from treadle.tensor.types.conversion import cotangent_of, tensors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Variable
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.variables.variable import TensorVariable


def pulled_through_body(
    op: Elemwise, inputs: Sequence[TensorVariable], cotangent: TensorVariable
) -> list[Variable | None]:
    """Return what flows back through the body."""
    # One variable may be several operands: each gets its own term.
    operands = [x.type.make_variable() for x in inputs]
    (out,) = op.decompose(*operands) or ()
    found: dict[Variable, Any] = {out: cotangent}
    for node in reversed(toposort([out], operands)):
        if node.outputs[0] in found:
            terms = node.op.pullback(node.inputs, node.outputs, [found[node.outputs[0]]])
            for x, term in zip(node.inputs, terms, strict=True):
                if term is not None:
                    found[x] = found[x] + term if x in found else term
    reached = [x for x in operands if x in found]
    given: dict[Variable, Variable] = dict(zip(operands, inputs, strict=True))
    terms = replaced([found[x] for x in reached], given, blockers=[cotangent, *operands])
    made: dict[Variable, Variable] = dict(zip(reached, terms, strict=True))
    return [made.get(x) for x in operands]


def pushed_through_body(
    op: Elemwise, inputs: Sequence[TensorVariable], moving: Mapping[int, TensorVariable]
) -> Variable | None:
    """Return the tangent that the body makes of those of some operands."""
    # One variable may be several operands: each has its own tangent.
    operands = [x.type.make_variable() for x in inputs]
    (out,) = op.decompose(*operands) or ()
    moved: dict[Variable, Variable] = {operands[i]: tangent for i, tangent in moving.items()}
    for node in toposort([out], operands):
        if any(x in moved for x in node.inputs):
            (term,) = node.op.pushforward(node.inputs, node.outputs, [moved.get(x) for x in node.inputs])
            if term is not None and isinstance(term.type, NullType):
                return term
            if term is not None:
                moved[node.out] = cotangent_of(*tensors([node.out, term]))
    if out not in moved:
        return None
    given: dict[Variable, Variable] = dict(zip(operands, inputs, strict=True))
    (tangent,) = replaced([moved[out]], given, blockers=[*operands, *moving.values()])
    return tangent
