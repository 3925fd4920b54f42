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
    cotangents: dict[Variable, Any] = {out: cotangent}
    for node in reversed(toposort([out], operands)):
        if node.outputs[0] in cotangents:
            terms = node.op.pullback(node.inputs, node.outputs, [cotangents[node.outputs[0]]])
            for x, term in zip(node.inputs, terms, strict=True):
                if term is not None:
                    cotangents[x] = cotangents[x] + term if x in cotangents else term
    reached = [x for x in operands if x in cotangents]
    substitutes: dict[Variable, Variable] = dict(zip(operands, inputs, strict=True))
    terms = replaced([cotangents[x] for x in reached], substitutes, blockers=[cotangent, *operands])
    gradients: dict[Variable, Variable] = dict(zip(reached, terms, strict=True))
    return [gradients.get(x) for x in operands]


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
    substitutes: dict[Variable, Variable] = dict(zip(operands, inputs, strict=True))
    (tangent,) = replaced([moved[out]], substitutes, blockers=[*operands, *moving.values()])
    return tangent
