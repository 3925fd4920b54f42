"""Documented names of derivatives beside `pullback` and `pushforward`: L_op and grad, and R_op.

Gradients call `Op.pullback` and `Op.pushforward`. An op may define any of the other names instead; each of them then
answers through the one that is defined. Where several classes of one op define different names, the most derived one
counts.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

from treadle.graph.ir.composition import composed
from treadle.graph.ir.null_type import DisconnectedType
from treadle.graph.ir.op import Op
from treadle.graph.ir.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    Derivatives = Sequence[Variable | None]

# In the order in which gradients come across them.
REVERSE = ("pullback", "L_op", "grad")
FORWARD = ("pushforward", "R_op")

_undefined_pullback, _undefined_pushforward = Op.pullback, Op.pushforward


@wraps(Op.pullback)
def _pullback(
    op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
) -> Derivatives:
    if _defines(op, "L_op") or _defines(op, "grad"):
        return op.L_op(inputs, outputs, cotangents)
    return _undefined_pullback(op, inputs, outputs, cotangents)


@wraps(Op.pushforward)
def _pushforward(
    op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
) -> Derivatives:
    if _defines(op, "R_op"):
        absent = (None if t is None or isinstance(t.type, DisconnectedType) else t for t in tangents)
        return op.R_op(inputs, list(absent))
    return _undefined_pushforward(op, inputs, outputs, tangents)


class GradientNames:
    """What `Op` has by these names."""

    @composed
    def L_op(  # type: ignore[misc]  # only Op derives from it
        self: Op, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
    ) -> Derivatives:
        """Return the gradients of the inputs, given those of the outputs (documented name of `pullback`)."""
        if _defines(self, "grad"):
            return self.grad(inputs, output_grads)
        return self.pullback(inputs, outputs, output_grads)

    @composed
    def grad(  # type: ignore[misc]  # as above
        self: Op, inputs: Sequence[Variable], output_grads: Sequence[Variable]
    ) -> Derivatives:
        """Return the gradients of the inputs, given those of the outputs (documented name; sees no outputs)."""
        if not (_defines(self, "L_op") or _defines(self, "pullback")):
            return _undefined_pullback(self, inputs, (), output_grads)
        given, outputs = _applied(self, inputs)
        if _defines(self, "L_op"):
            return self.L_op(given, outputs, output_grads)
        return self.pullback(given, outputs, output_grads)

    def R_op(  # type: ignore[misc]  # as above
        self: Op, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]
    ) -> Derivatives:
        """Return the directional derivatives of the outputs (documented name of `pushforward`; sees no outputs)."""
        if not _defines(self, "pushforward"):
            return _undefined_pushforward(self, inputs, (), eval_points)
        tangents = [DisconnectedType()() if t is None else t for t in eval_points]
        return self.pushforward(*_applied(self, inputs), tangents)


_METHODS = {"pullback": _pullback, "pushforward": _pushforward} | {
    name: vars(GradientNames)[name] for name in ("L_op", "grad", "R_op")
}


def _adapt(cls: type[Op]) -> None:
    """Let a method that a class defines win over those that it inherits under another name."""
    for names in (REVERSE, FORWARD):
        places = [_place(cls, name) for name in names]
        for i, name in enumerate(names):
            if places[i] > min(places[i + 1 :], default=places[i]):
                setattr(cls, name, _METHODS[name])


def _place(kind: type, name: str) -> int:
    """Return how far up the bases of a class a gradient method is defined; beyond all of them if nowhere."""
    for at, base in enumerate(kind.__mro__):
        found = base.__dict__.get(name)
        if found is not None:
            return at if found is not _METHODS[name] else len(kind.__mro__)
    return len(kind.__mro__)


def _defines(op: Op, name: str) -> bool:
    return _place(type(op), name) < len(type(op).__mro__)


def _applied(op: Op, inputs: Sequence[Variable]) -> tuple[Sequence[Variable], Sequence[Variable]]:
    """Return inputs as variables, and the outputs of the op applied to them.

    An input that is a variable stays what it is, so that its derivative has its own rank, not that to which
    `make_node` may bring it.
    """
    node = op.make_node(*inputs)
    if len(node.inputs) != len(inputs):
        return node.inputs, node.outputs
    given = [x if isinstance(x, Variable) else made for x, made in zip(inputs, node.inputs, strict=True)]
    return given, node.outputs


for _name, _method in {**_METHODS, "adapt": staticmethod(_adapt)}.items():
    setattr(Op, _name, _method)
