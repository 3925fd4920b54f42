"""Errors of nodes: which op, which values, which of the user's lines.

An error raised while a program runs becomes a `NodeError`. One that an op or feature raises when a graph is built,
differentiated, rewritten or linked keeps its class, and gets a note.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from treadle.config import TreadleError, config, text_of
from treadle.graph.diagnostics.upward import upward
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

    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.thunk import Value
    from treadle.graph.ir.variable import Variable


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
    text = text_of(error, str, 2000)
    if (name in text and where in text) or any(note.startswith(_BEGIN) for note in getattr(error, "__notes__", ())):
        return
    error.add_note(f"{_BEGIN}{type(op).__name__}.{method} of {name}{where}.")


def note_feature(error: BaseException, feature: Any, callback: str, node: Any = None) -> None:
    """Add a note to an error: which callback of which feature raised it, and on which node of the graph.

    treadle's own errors get none: they say what is wrong, and features raise them to refuse changes.
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
    """What the message of a node's error is made from: its first sentence, the node, and known values of its inputs."""

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
            lines += ["Graph:", str(upward.debugprint(self.node, file="str", print_type=True)).rstrip()]
        return "\n".join(lines)

    def _value(self, var: Variable) -> str:
        if var not in self.values:
            return ""
        value = self.values[var]
        strides = getattr(value, "strides", None)
        text = " ".join(repr(value).split())
        suffix = f": {text}" if len(text) <= _LONGEST_VALUE else ""
        return f", {describe_value(value)}{'' if strides is None else f', strides {tuple(strides)}'}{suffix}"


_LONGEST_VALUE = 120


def retell(error: NodeError) -> None:
    """Give the error of a node the length that the option ``exception_verbosity`` asks for here."""
    if isinstance(error.report, Report):
        error.retold(error.report.message(str(config.exception_verbosity)))


def node_error(node: Apply, error: Exception, values: Sequence[object] | None = None) -> Exception:
    """Return the error to raise for a node that failed.

    Parameters
    ----------
    node
        The node that failed.
    error
        What it raised.
    values
        Values of the node's inputs, where they are known.

    Returns
    -------
    A `NodeError` that is of the class of what was raised too, and has its arguments and attributes. Where no class can
    be both, what was raised, with a note that says what the error would.

    Notes
    -----
    An op may name a better culprit through a method ``blame(node, values) -> Apply | None``: a fused op knows the
    nodes it was made of.
    """
    if isinstance(error, NodeError) or any(note.startswith(_FAILED) for note in getattr(error, "__notes__", ())):
        return error
    blame = getattr(node.op, "blame", None)
    culprit = blame(node, values) if blame is not None and values is not None else None
    culprit_node = node if culprit is None else culprit
    inputs_text = "" if values is None else f" The inputs are {', '.join(map(describe_value, values)) or 'none'}."
    cause = text_of(error, str, 2000) or type(error).__name__
    # Where the culprit was fused into the node that failed, only the values of inputs that both have are known.
    known_values = {} if values is None else dict(zip(node.inputs, values, strict=False))
    subject = f"{text_of(culprit_node.op, str, 2000)}: " if culprit_node.op.begins_errors else ""
    report = Report(
        f"{subject}{cause.rstrip('. ')}{culprit_node.where()}.{inputs_text}",
        culprit_node,
        known_values,
    )
    message = report.message(str(config.exception_verbosity))
    try:
        combined = _of_class(type(error), error.args)
    except Exception:  # noqa: BLE001 - a third-party class may refuse in any way to be derived from
        error.add_note(f"{_FAILED}{message}")
        return error
    _take_over(combined, _attributes(error))
    combined.text, combined.report = message, report
    return combined


_FAILED = "Raised while the program ran. "


@lru_cache(maxsize=256)
def _class_of_both(raised: type[Any]) -> type[NodeError]:
    """Return the class of a node's errors that is also one of what was raised."""
    kind = next((kind for builtin, kind in _KINDS if issubclass(raised, builtin)), NodeError)
    if issubclass(kind, raised):
        return kind
    namespace = {"__module__": raised.__module__, "__doc__": raised.__doc__, "__reduce__": _reduced}
    return type(raised.__name__, (kind, raised), namespace)


# Py_TPFLAGS_HEAPTYPE: of the classes that an error's class is derived from, those of the interpreter lack it.
_MADE_IN_PYTHON = 1 << 9


def _of_class(raised: Any, args: tuple[object, ...]) -> NodeError:
    """Return a node's error that is also of the class of what was raised; no code of that class is called."""
    kind: Any = _class_of_both(raised)
    native = kind
    while native.__flags__ & _MADE_IN_PYTHON:
        native = native.__base__
    error: NodeError = native.__new__(kind, *args)
    native.__init__(error, *args)
    error.args = args
    return error


def _attributes(error: Exception) -> dict[str, object]:
    """Return the attributes of an error, slots and those of builtin classes included, without its arguments."""
    slots = [
        name
        for kind in type(error).__mro__
        for name, member in vars(kind).items()
        if isinstance(member, MemberDescriptorType) and not name.startswith("__") and hasattr(error, name)
    ]
    return {**{name: getattr(error, name) for name in slots}, **vars(error)}


def _take_over(error: NodeError, attributes: Mapping[str, object]) -> None:
    for name, value in attributes.items():
        # Some of those of builtin classes cannot be set: they follow from the arguments.
        with suppress(AttributeError, TypeError):
            object.__setattr__(error, name, value)


def _reduced(error: NodeError) -> tuple[object, ...]:
    attributes = {name: value for name, value in _attributes(error).items() if name != "report"}
    return _restored, (type(error).__bases__[1], error.args, attributes)


def _restored(raised: type[Exception], args: tuple[object, ...], attributes: Mapping[str, object]) -> NodeError:
    error = _of_class(raised, args)
    _take_over(error, attributes)
    return error


def raise_node_error(node: Apply, error: Exception, values: Sequence[object] | None = None) -> NoReturn:
    """Raise the error for a node that failed (see `node_error`)."""
    to_raise = node_error(node, error, values)
    if to_raise is error:
        raise error
    raise to_raise from error
