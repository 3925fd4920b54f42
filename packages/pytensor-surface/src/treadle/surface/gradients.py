"""Documented names of derivatives beside `pullback` and `pushforward`: L_op and grad, and R_op.

Gradients call `Op.pullback` and `Op.pushforward`. An op may define any of the other names instead; each of them then
answers through the one that is defined. Where several classes of one op define different names, the most derived one
counts.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

# treadle.graph is still loading when this module is, so its names are looked up in calls.
from treadle import graph
from treadle.config import config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Variable

    Derivatives = Sequence[Variable | None]

# In the order in which gradients look them up.
REVERSE = ("pullback", "L_op", "grad")
FORWARD = ("pushforward", "R_op")


def _composed(method: Callable[..., Derivatives]) -> Callable[..., Derivatives]:
    """Return a method whose calls compose (see `treadle.graph.composed`)."""

    @wraps(method)
    def call(*args: object) -> Derivatives:
        return graph.composed(method)(*args)

    return call


class GradientNames:
    """Base of all ops: the documented methods of derivatives."""

    # Of the op.
    make_node: Callable[..., Apply]
    pullback: Callable[..., Derivatives]
    pushforward: Callable[..., Derivatives]

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Let a method that a class defines win over those that it inherits under another name."""
        super().__init_subclass__(**kwargs)
        root = _root(cls)
        for names in (REVERSE, FORWARD):
            places = [_place(cls, name, root) for name in names]
            for i, name in enumerate(names):
                if places[i] > min(places[i + 1 :], default=places[i]):
                    setattr(cls, name, _METHODS[name])

    @_composed
    def L_op(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
    ) -> Derivatives:
        """Return the gradients of the inputs, given those of the outputs (documented name of `pullback`)."""
        if _defines(self, "grad"):
            return self.grad(inputs, output_grads)
        return _told_apart(self.pullback(inputs, outputs, output_grads))

    @_composed
    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Derivatives:
        """Return the gradients of the inputs, given those of the outputs (documented name; sees no outputs)."""
        if not (_defines(self, "L_op") or _defines(self, "pullback")):
            return _undefined(self, "pullback", inputs, (), output_grads)
        variables, outputs = _applied(self, inputs)
        if _defines(self, "L_op"):
            return self.L_op(variables, outputs, output_grads)
        return _told_apart(self.pullback(variables, outputs, output_grads))

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> Derivatives:
        """Return the directional derivatives of the outputs (documented name of `pushforward`; sees no outputs)."""
        if not _defines(self, "pushforward"):
            return _undefined(self, "pushforward", inputs, (), eval_points)
        tangents = [graph.DisconnectedType()() if t is None else t for t in eval_points]
        return self.pushforward(*_applied(self, inputs), tangents)


def _told_apart(terms: Derivatives) -> Derivatives:
    """Return gradients with what the option ``absent_gradients`` has in place of None."""
    if config.absent_gradients == "none":
        return terms
    return [graph.DisconnectedType()() if term is None else term for term in terms]


def _pullback(
    op: GradientNames, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
) -> Derivatives:
    """Return the gradients of the inputs by `L_op` or `grad`, whichever is defined (see `Op.pullback`)."""
    if _defines(op, "L_op") or _defines(op, "grad"):
        return op.L_op(inputs, outputs, cotangents)
    return _undefined(op, "pullback", inputs, outputs, cotangents)


def _pushforward(
    op: GradientNames, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
) -> Derivatives:
    """Return the directional derivatives of the outputs by `R_op`, if it is defined (see `Op.pushforward`)."""
    if _defines(op, "R_op"):
        absent = (None if t is None or isinstance(t.type, graph.DisconnectedType) else t for t in tangents)
        return op.R_op(inputs, list(absent))
    return _undefined(op, "pushforward", inputs, outputs, tangents)


_METHODS = {"pullback": _pullback, "pushforward": _pushforward} | {
    name: vars(GradientNames)[name] for name in ("L_op", "grad", "R_op")
}


def _root(kind: type) -> type | None:
    """Return the class of all ops, whose own methods say that nothing is defined; None where `kind` is above it."""
    bases = [base for base in kind.__mro__ if issubclass(base, GradientNames) and "pullback" in vars(base)]
    return bases[-1] if bases else None


def _place(kind: type, name: str, root: type | None) -> int:
    """Return how far up the bases of a class a gradient method is defined; beyond all if nowhere below `root`."""
    for at, base in enumerate(kind.__mro__):
        method = base.__dict__.get(name)
        if method is not None and base is not root:
            return at if method is not _METHODS[name] else len(kind.__mro__)
    return len(kind.__mro__)


def _defines(op: GradientNames, name: str) -> bool:
    kind = type(op)
    return _place(kind, name, _root(kind)) < len(kind.__mro__)


def _undefined(op: GradientNames, name: str, *args: object) -> Derivatives:
    """Call the method of the class of all ops, which refuses."""
    root = _root(type(op))
    refuse: Callable[..., Derivatives] = getattr(root, name)
    return refuse(op, *args)


def _applied(op: GradientNames, inputs: Sequence[Variable]) -> tuple[Sequence[Variable], Sequence[Variable]]:
    """Return inputs as variables, and the outputs of the op applied to them.

    An input that is a variable stays what it is, so that its derivative has its own rank, not that to which
    `make_node` may bring it.
    """
    node = op.make_node(*inputs)
    if len(node.inputs) != len(inputs):
        return node.inputs, node.outputs
    pairs = zip(inputs, node.inputs, strict=True)
    return [x if isinstance(x, graph.Variable) else converted for x, converted in pairs], node.outputs
