"""Errors of nodes: which op, which values, which of the user's lines.

What fails while a program runs becomes an error of its own. What ops and features raise when graphs are built,
differentiated, rewritten and linked keeps its class, and gets a note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from treadle.config import TreadleError, config, lazy_module, text_of
from treadle.graph.errors import (
    NodeArithmeticError,
    NodeError,
    NodeIndexError,
    NodeMemoryError,
    NodeTypeError,
    NodeValueError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import printing
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.values import Value
    from treadle.graph.ir.variable import Variable
else:
    printing = lazy_module("treadle.graph.printing")


_BEGIN = "Raised by "


def note_op(error: BaseException, op: object, method: str, where: str = "") -> None:
    """Add a note to an error: which method of which op raised it, and from which of the user's lines the node comes.

    Parameters
    ----------
    error
        What the method raised. Its class stays, as callers may catch it.
    op
        The op.
    method
        The method's name.
    where
        What `Apply.where` returns, or nothing.

    Notes
    -----
    An error that names op and line already gets no note; neither does one that has such a note: the innermost op, where
    ops call each other's methods, is the one at fault.
    """
    name = text_of(op, str)
    told = text_of(error, str, 2000)
    if (name in told and where in told) or any(note.startswith(_BEGIN) for note in getattr(error, "__notes__", ())):
        return
    error.add_note(f"{_BEGIN}{type(op).__name__}.{method} of {name}{where}.")


def note_feature(error: BaseException, feature: Any, callback: str, node: Any = None) -> None:
    """Add a note to an error: which callback of which feature raised it, and on which node of the graph.

    Errors of treadle's own tell what is wrong themselves: features refuse changes by them.
    """
    if isinstance(error, TreadleError):
        return
    on = "" if node is None else f" on {text_of(node.op, str)}{node.where()}"
    error.add_note(f"{_BEGIN}{type(feature).__name__}.{callback}{on}.")


_KINDS: tuple[tuple[type[Exception], type[NodeError]], ...] = (
    (IndexError, NodeIndexError),
    (TypeError, NodeTypeError),
    (MemoryError, NodeMemoryError),
    (ArithmeticError, NodeArithmeticError),
    (ValueError, NodeValueError),
)


def describe_value(value: object) -> str:
    """Return ``float64 of shape (2, 3)`` for an array, the class name for anything else."""
    shape = getattr(value, "shape", None)
    if shape is None:
        return type(value).__name__
    return f"{getattr(value, 'dtype', type(value).__name__)} of shape {tuple(shape)}"


class Report(NamedTuple):
    """What the message of a node's error is made from.

    Attributes
    ----------
    text
        The sentence that is always told.
    node
        The node at fault.
    values
        Values of its inputs, by variable, where they are known.
    """

    text: str
    node: Apply
    values: Mapping[Variable, Value]

    def message(self, verbosity: str) -> str:
        """Return the message of one length of the option ``exception_verbosity``: ``low``, ``medium`` or ``high``."""
        if verbosity == "low":
            return self.text
        lines = [self.text, "Inputs:"]
        for i, var in enumerate(self.node.inputs):
            lines.append(f"  {i}: {var} of type {var.type}{self._value(var)}")
        lines.append(f"Outputs: {', '.join(f'{var} of type {var.type}' for var in self.node.outputs)}")
        if self.node.user_line is not None:
            lines += ["Built by:", *(f"  {line}" for line in self.node.user_line.trace)]
        if verbosity == "high":
            lines += ["Graph:", str(printing.debugprint(self.node, file="str", print_type=True)).rstrip()]
        return "\n".join(lines)

    def _value(self, var: Variable) -> str:
        if var not in self.values:
            return ""
        value = self.values[var]
        strides = getattr(value, "strides", None)
        text = " ".join(repr(value).split())
        shown = f": {text}" if len(text) <= _LONGEST_VALUE else ""
        return f", {describe_value(value)}{'' if strides is None else f', strides {tuple(strides)}'}{shown}"


_LONGEST_VALUE = 120


def retell(error: NodeError) -> None:
    """Give the error of a node the length that the option ``exception_verbosity`` asks for here."""
    if isinstance(error.report, Report):
        error.args = (error.report.message(str(config.exception_verbosity)),)


def node_error(node: Apply, error: Exception, values: Sequence[object] | None = None) -> NodeError:
    """Return the error to raise for a node that failed.

    Parameters
    ----------
    node
        The node that failed.
    error
        What it raised; its nearest builtin class is kept.
    values
        Values of the node's inputs, where they are known.

    Notes
    -----
    An op may name a better culprit through a method ``blame(node, values) -> Apply | None``: a fused op knows the
    nodes it was made of. One that raises errors of a class that its user names has that class as ``exc_type``.
    """
    if isinstance(error, NodeError):
        return error
    blame = getattr(node.op, "blame", None)
    culprit = blame(node, values) if blame is not None and values is not None else None
    shown = node if culprit is None else culprit
    given = "" if values is None else f" The inputs are {', '.join(map(describe_value, values)) or 'none'}."
    text = str(error) or type(error).__name__
    # Of a node that was fused into the one that failed, those inputs are known that both have.
    known = {} if values is None else dict(zip(node.inputs, values, strict=False))
    report = Report(f"{text_of(shown.op, str, 2000)}: {text.rstrip('. ')}{shown.where()}.{given}", shown, known)
    message = report.message(str(config.exception_verbosity))
    stated = getattr(node.op, "exc_type", None)
    if stated is not None and isinstance(error, stated):
        made = _stated_error(stated, (message,))
    else:
        made = next((kind for builtin, kind in _KINDS if isinstance(error, builtin)), NodeError)(message)
    made.report = report
    return made


def _stated_error(stated: type[Exception], args: tuple[object, ...]) -> NodeError:
    """Return a node's error that is also of the class that the user of an op named; its `__init__` is not called."""
    namespace = {"__module__": stated.__module__, "__doc__": stated.__doc__, "__reduce__": _reduced}
    kind: type[NodeError] = type(stated.__name__, (NodeError, stated), namespace)
    return kind.__new__(kind, *args)


def _reduced(error: NodeError) -> tuple[object, ...]:
    return _stated_error, (type(error).__bases__[1], error.args)


def raise_node_error(node: Apply, error: Exception, values: Sequence[object] | None = None) -> NoReturn:
    """Raise the error for a node that failed (see `node_error`)."""
    raise node_error(node, error, values) from error
