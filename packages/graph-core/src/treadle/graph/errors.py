"""Errors of the graph: each derives from TreadleError and from the builtin it specialises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import TreadleError, about_call

if TYPE_CHECKING:
    from treadle.graph.ir.apply import Apply
    from treadle.graph.lowering import Unsupported


class GraphError(TreadleError):
    """Something is wrong with a graph."""


class CallError(GraphError):
    """A call is wrong; the message names the function that the user called, even where an inner one noticed.

    Parameters
    ----------
    message
        The message; its subject gives way to the name of that function (see `treadle.config.about_call`).
    about
        The value that is wrong, where the message is to name its parameter.
    """

    def __init__(self, message: str = "", *about: object) -> None:
        super().__init__(about_call(message, *about))


class GraphTypeError(CallError, TypeError):
    """A value or variable has a type that its place in the graph does not take."""


class GraphValueError(CallError, ValueError):
    """A value or a static shape does not fit its place in the graph."""


class GraphAttributeError(GraphError, AttributeError):
    """A free attribute of a variable or node was never set."""


class MissingInputError(GraphError, ValueError):
    """An output depends on a variable that is neither an input, a constant nor shared."""


class InconsistencyError(GraphError, ValueError):
    """A change would make a graph that computes something else, or that cannot be computed at all."""


class CycleError(InconsistencyError):
    """A graph contains itself, so that no order of evaluation exists.

    Attributes
    ----------
    nodes
        The nodes of one cycle, each needed by the next one, and the last one by the first.
    """

    nodes: tuple[Any, ...] = ()


class MethodNotDefinedError(GraphError, NotImplementedError):
    """An Op lacks a method that is needed here."""


class LoweringError(GraphError, NotImplementedError):
    """A backend has no lowering for one or more nodes.

    Attributes
    ----------
    gaps
        The nodes, each with the reason, where they are known.
    """

    gaps: tuple[tuple[Apply, Unsupported], ...] = ()


class DuplicateRegistrationError(GraphError, ValueError):
    """A name, or an op type, is registered twice."""


class VectorizeError(GraphError, NotImplementedError):
    """One or more nodes have no rule for more leading dimensions, or refuse these."""


class NodeError(GraphError, RuntimeError):
    """A node failed while the program ran; the message names the op and the user's line.

    It is also of the class that the node raised, with that error's arguments and attributes, so that both
    ``except NodeError`` and ``except`` with the op's own class catch it.

    Attributes
    ----------
    report
        What the message is made from (see `treadle.graph.diagnostics.failure`); None once it was pickled.
    text
        The message, where the arguments are those of what the node raised; else None.
    """

    report: Any = None
    text: str | None = None

    def __str__(self) -> str:
        return Exception.__str__(self) if self.text is None else self.text

    def retold(self, text: str) -> None:
        """Change the message."""
        if self.text is None:
            self.args = (text,)
        else:
            self.text = text

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.args, {key: value for key, value in vars(self).items() if key != "report"}


class NodeValueError(NodeError, ValueError):
    """Run-time shapes or values of a node's inputs do not fit together."""


class NodeIndexError(NodeError, IndexError):
    """An index is out of bounds at run time."""


class NodeTypeError(NodeError, TypeError):
    """A node was given a value of a type it does not take."""


class NodeArithmeticError(NodeError, ArithmeticError):
    """A node divided by zero, overflowed, or met a floating-point error that the user made fatal."""


class NodeMemoryError(NodeError, MemoryError):
    """There is not enough memory for a node's result."""


class ShapeInferenceError(GraphError, RuntimeError):
    """An op's infer_shape failed, and the option on_shape_error asks for an error."""


class TestValueError(GraphError, AttributeError, ValueError):
    """A variable has no test value."""

    __test__ = False


class DrawingLibraryError(GraphError, ImportError):
    """The library that lays out and draws graphs on HTML pages is not installed, or is one that cannot be used."""
