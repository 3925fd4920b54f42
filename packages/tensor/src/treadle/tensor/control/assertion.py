"""Assertions: a value is passed on if conditions hold; else the program raises an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.config import alias, text_of
from treadle.graph import Apply, Constant, Form, GraphTypeError, GraphValueError, Op, Variable
from treadle.tensor.elementwise.comparison import ge, neq
from treadle.tensor.errors import ShapeError
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.reductions.reduction import all_
from treadle.tensor.shapes.shape import ShapeI
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Cell, SymbolicShape, Value
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.ops.tensor_op import Derivatives, Variables
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["Assert", "CheckAndRaise", "assert_op"]


class CheckAndRaise(Op):
    """The first input itself, of any type; raises an error when it is computed and a condition is false.

    ``CheckAndRaise(ValueError, "x must be positive")(x, x.min() > 0)`` is x, or the error. All backends raise it: those
    that compile the whole graph (NUMBA, JAX, PYTORCH) compute the conditions with it, and the graph is run again in
    Python where one is false. Gradients pass through unchanged. What is not needed for an output is not checked.

    Parameters
    ----------
    exc_type
        Class of the error, which takes one text. The error raised is of a class derived from it and from `NodeError`.
    msg
        What the error begins with; the user's line is added.

    Raises
    ------
    GraphTypeError
        If `exc_type` is not a class of exceptions.
    """

    promises_structure = False
    begins_errors = False

    __props__: ClassVar[tuple[str, ...]] = ("exc_type", "msg")
    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op

    def __init__(self, exc_type: type[Exception], msg: str = "") -> None:
        kind: object = exc_type
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            error = f"CheckAndRaise: exc_type must be a class of exceptions, got {text_of(kind)}. Pass one."
            raise GraphTypeError(error)
        self.exc_type = exc_type
        self.msg = msg if isinstance(msg, str) else text_of(msg)

    def make_node(self, *inputs: TensorLike) -> Apply:
        """Return the node for a value and its conditions: scalars, or tensors whose elements must all hold.

        Raises
        ------
        GraphValueError
            If there is no value.
        """
        if not inputs:
            msg = f"{self}: a value and conditions are needed, got nothing. Pass them: op(value, condition, ...)."
            raise GraphValueError(msg)
        value, *conditions = (x if isinstance(x, Variable) else as_tensor_variable(x) for x in inputs)
        return Apply(self, [value, *map(_scalar, conditions)], [value.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Check the conditions and pass the value on."""
        value, *conditions = inputs
        if not all(map(np.all, conditions)):
            raise self.exc_type(self.msg)
        output_storage[0][0] = value

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Refuse: an error is raised when the program runs, and true conditions are dropped by a rule."""
        return False

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Connect the value only."""
        return [[True], *[[False]] * (len(node.inputs) - 1)]

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the result is the value."""
        return self.connection_pattern(node)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Pass the cotangent on."""
        return [cotangents[0], *[None] * (len(inputs) - 1)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Pass the tangent on."""
        return list(tangents[:1])

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the value's shape."""
        return list(shapes[:1])

    def known_values(self, node: Apply, known: Callable[[Variable], Known]) -> Known:
        """Return the value's elements."""
        return known(node.inputs[0])

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise what the value promises."""
        return output.owner is not None and holds(fact, output.owner.inputs[0])

    def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
        """Check the conditions of the whole batch."""
        return self.make_node(*inputs)

    def printed_form(self, node: Apply) -> Form:
        """Write ``assert(x, c)``."""
        return Form.call("assert", node.inputs)

    def __str__(self) -> str:
        text = self.msg if len(self.msg) <= _LONGEST else f"{self.msg[: _LONGEST - 3]}..."
        return f"{type(self).__name__}{{raises={self.exc_type.__name__}, msg='{text}'}}"

    __repr__ = __str__


_LONGEST = 30


# What makes a tensor of no length: NumPy's error for it.
NOT_NEGATIVE = CheckAndRaise(ValueError, "negative dimensions are not allowed")


def checked_length(length: TensorVariable, text: str | None = None, least: int = 0) -> TensorVariable:
    """Return a length, checked to be at least `least` where no op checks it; with NumPy's words, or `text`."""
    check = NOT_NEGATIVE if text is None else CheckAndRaise(ValueError, text)
    known = known_value(length)
    if known is not None and known < least:
        msg = f"length: {check.msg}, got {known}. Give {least} or more."
        raise ShapeError(msg)
    if isinstance(length, Constant) or (length.owner is not None and isinstance(length.owner.op, ShapeI)):
        return length
    checked: TensorVariable = check(length, ge(length, least))
    return checked


def _scalar(condition: Variable) -> Variable:
    """Return a condition as a truth value, of a tensor of conditions whether all are true."""
    if not isinstance(condition.type, TensorType):
        return condition
    if condition.type.ndim:
        return all_(condition)
    return condition if condition.type.dtype == "bool" else neq(condition, 0)


class Assert(CheckAndRaise):
    """`CheckAndRaise` of an AssertionError.

    Parameters
    ----------
    msg
        What the error says.

    Examples
    --------
    >>> from treadle.tensor import Assert, dvector
    >>> x = dvector("x")
    >>> y = Assert("x must be positive")(x, x.min() > 0)
    >>> y.eval({x: [1.0, 2.0]}).tolist()
    [1.0, 2.0]
    """

    __props__ = ("msg",)

    def __init__(self, msg: str = "The assertion failed") -> None:
        super().__init__(AssertionError, msg)

    def __str__(self) -> str:
        return f"Assert{{msg={self.msg!r}}}"

    __repr__ = __str__


assert_op = alias(Assert(), "assert_op")
