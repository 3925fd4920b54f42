"""Print: an op that shows values while a program runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from treadle.graph.ir.apply import Apply
from treadle.graph.ir.notation import Form
from treadle.graph.ir.op import Op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph.ir.thunk import Cell, SymbolicShape, Value
    from treadle.graph.ir.variable import Variable


def print_attributes(op: Print, value: object) -> None:
    """Write a line ``message attribute = value`` to standard output for each attribute the op names."""
    for name in op.attrs:
        attribute = getattr(value, name)
        text = attribute() if callable(attribute) else attribute
        sys.stdout.write(f"{op.message} {name} = {text}\n")
    sys.stdout.flush()


class Print(Op):
    """The input itself, of any type, shown when it is computed.

    ``y = Print("x is", attrs=("shape", "__str__"))(x)`` shows x where the program needs y: what does not depend on
    the output shows nothing, and equal nodes on one input show it once. Gradients pass through unchanged.

    The Python VM runs it, and so do the default modes, which run nodes that C has no rule for as Python steps. The
    backends that compile the whole graph (modes C, NUMBA, JAX, PYTORCH) refuse it and say so: their programs never
    call back into Python. Make the value an output of the function there.

    Parameters
    ----------
    message
        Shown in front.
    attrs
        Attributes of the value to show; methods are called.
    global_fn
        ``global_fn(op, value)`` is called in place of the default, which writes a line for each attribute.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> Print("x is")(x).owner.op
    Print(message='x is', attrs=('__str__',))
    """

    __props__ = ("message", "attrs", "global_fn")
    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op

    def __init__(
        self,
        message: str = "",
        attrs: Sequence[str] = ("__str__",),
        global_fn: Callable[[Print, Value], object] = print_attributes,
    ) -> None:
        self.message = message
        self.attrs = tuple(attrs)
        self.global_fn = global_fn

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; the output has the input's type."""
        (x,) = inputs
        var = self.as_input(x)
        return Apply(self, [var], [var.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Show the value and pass it on."""
        self.global_fn(self, inputs[0])
        output_storage[0][0] = inputs[0]

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Never: the value is to be shown at every call."""
        return False

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the input's shape."""
        return list(shapes)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Pass the cotangent on."""
        return list(cotangents)

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Pass the tangent on."""
        return list(tangents)

    def printed_form(self, node: Apply) -> Form:
        """Write ``Print('message')(x)``."""
        return Form.call(f"Print({self.message!r})" if self.message else "Print()", node.inputs)

    def __str__(self) -> str:
        return f"Print(message={self.message!r}, attrs={self.attrs!r})"

    __repr__ = __str__
