"""How an op says what its derivatives are: three names for the reverse mode, two for the forward mode, one mechanism.

`pullback` and `pushforward` are what gradients call. An op may define any of the documented names; each of the others
then answers through it. Where several classes of one op define different names, the most derived one counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph.errors import MethodNotDefinedError
from treadle.graph.ir.composition import composed
from treadle.graph.ir.null_type import DisconnectedType
from treadle.graph.ir.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.ir.apply import Apply

# In the order in which gradients come across them.
REVERSE = ("pullback", "L_op", "grad")
FORWARD = ("pushforward", "R_op")


def is_disconnected(var: Variable | None) -> bool:
    """Whether a derivative is absent: None and a variable of `DisconnectedType` mean the same."""
    return var is None or isinstance(var.type, DisconnectedType)


class Differentiable:
    """Base of `Op`: the gradient methods, each written in terms of whichever is defined."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a method that this class defines win over those that it inherits under another name."""
        super().__init_subclass__(**kwargs)
        for names in (REVERSE, FORWARD):
            places = [_place(cls, name) for name in names]
            for i, name in enumerate(names):
                if places[i] > min(places[i + 1 :], default=places[i]):
                    setattr(cls, name, Differentiable.__dict__[name])

    if TYPE_CHECKING:

        def make_node(self, *inputs: Any) -> Apply:
            """Return an application of the op to the inputs; `Op` defines it."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input, for each output, whether a change of the input can change the output smoothly."""
        return [[True] * len(node.outputs) for _ in node.inputs]

    # Reverse mode

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the row vector `cotangents` times the Jacobian, one term for each input.

        Parameters
        ----------
        inputs, outputs
            Variables of the node.
        cotangents
            The gradient by each output: zeros where an output does not matter and its type has zeros, else a variable
            of `DisconnectedType`.

        Returns
        -------
        The gradient by each input. None or a variable of `DisconnectedType`: nothing flows back there. A variable of
        ``NullType(reason)``: the gradient is not defined.

        Raises
        ------
        MethodNotDefinedError
            If the op defines none of pullback, L_op and grad.
        """
        if not (_defines(self, "L_op") or _defines(self, "grad")):
            raise _no_gradient(self)
        return self.L_op(inputs, outputs, cotangents)

    @composed
    def L_op(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the gradients of the inputs, given those of the outputs (documented name of `pullback`)."""
        if _defines(self, "grad"):
            return self.grad(inputs, output_grads)
        if not _defines(self, "pullback"):
            raise _no_gradient(self)
        return self.pullback(inputs, outputs, output_grads)

    @composed
    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Sequence[Variable | None]:
        """Return the gradients of the inputs, given those of the outputs (documented name; sees no outputs)."""
        if not (_defines(self, "L_op") or _defines(self, "pullback")):
            raise _no_gradient(self)
        given, outputs = _applied(self, inputs)
        if _defines(self, "L_op"):
            return self.L_op(given, outputs, output_grads)
        return self.pullback(given, outputs, output_grads)

    # Forward mode

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return the Jacobian times the `tangents`, one term for each output.

        Parameters
        ----------
        inputs, outputs
            Variables of the node.
        tangents
            How each input moves; None or a variable of `DisconnectedType` where it does not.

        Returns
        -------
        How each output moves; None or a variable of `DisconnectedType` where it does not.

        Raises
        ------
        MethodNotDefinedError
            If the op defines neither pushforward nor R_op.
        """
        del outputs
        if not _defines(self, "R_op"):
            raise _no_forward(self)
        return self.R_op(inputs, [None if is_disconnected(t) else t for t in tangents])

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> Sequence[Variable | None]:
        """Return the directional derivatives of the outputs (documented name of `pushforward`; sees no outputs)."""
        if not _defines(self, "pushforward"):
            raise _no_forward(self)
        tangents = [DisconnectedType()() if t is None else t for t in eval_points]
        return self.pushforward(*_applied(self, inputs), tangents)


def _place(kind: type, name: str) -> int:
    """Return how far up the bases of a class a gradient method is defined; beyond all of them if nowhere."""
    for at, base in enumerate(kind.__mro__):
        found = base.__dict__.get(name)
        if found is not None:
            return at if found is not Differentiable.__dict__[name] else len(kind.__mro__)
    return len(kind.__mro__)


def _applied(op: Differentiable, inputs: Sequence[Any]) -> tuple[Sequence[Variable], Sequence[Variable]]:
    """Return inputs as variables, and the outputs of the op applied to them.

    An input that is a variable stays what it is, so that its derivative has its own rank, not that to which
    `make_node` may bring it.
    """
    node = op.make_node(*inputs)
    if len(node.inputs) != len(inputs):
        return node.inputs, node.outputs
    given = [x if isinstance(x, Variable) else made for x, made in zip(inputs, node.inputs, strict=True)]
    return given, node.outputs


def _defines(op: Differentiable, name: str) -> bool:
    return _place(type(op), name) < len(type(op).__mro__)


def _no_gradient(op: Differentiable) -> MethodNotDefinedError:
    msg = f"{op}: the op defines no gradient. Implement pullback (or L_op, or grad) on {type(op).__name__}."
    return MethodNotDefinedError(msg)


def _no_forward(op: Differentiable) -> MethodNotDefinedError:
    msg = f"{op}: the op defines no R_op. Implement pushforward (or R_op) on {type(op).__name__}."
    return MethodNotDefinedError(msg)
