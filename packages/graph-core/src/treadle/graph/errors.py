"""Errors of the graph: each derives from TreadleError and from the builtin it specialises."""

from __future__ import annotations

from treadle.config import TreadleError


class GraphError(TreadleError):
    """Something is wrong with a graph."""


class GraphTypeError(GraphError, TypeError):
    """A value or variable has a type that its place in the graph does not take."""


class GraphValueError(GraphError, ValueError):
    """A value or a static shape does not fit its place in the graph."""


class MissingInputError(GraphError, ValueError):
    """An output depends on a variable that is neither an input, a constant nor shared."""


class CycleError(GraphError, ValueError):
    """A graph contains itself, so that no order of evaluation exists."""


class MethodNotDefinedError(GraphError, NotImplementedError):
    """An Op lacks a method that is needed here."""


class LoweringError(GraphError, NotImplementedError):
    """A backend has no lowering for one or more nodes."""


class DuplicateRegistrationError(GraphError, ValueError):
    """Two claims were made to one name or one op type."""


class NodeError(GraphError):
    """A node failed while the program ran; the message names the op and the user's line."""


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


class TestValueError(GraphError, AttributeError):
    """A variable has no test value."""

    __test__ = False
