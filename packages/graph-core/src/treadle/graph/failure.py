"""Errors of a node that failed while a program ran: which op, which values, which of the user's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from treadle.graph.errors import (
    NodeArithmeticError,
    NodeError,
    NodeIndexError,
    NodeMemoryError,
    NodeTypeError,
    NodeValueError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.apply import Apply

_KINDS: tuple[tuple[type[Exception], type[NodeError]], ...] = (
    (IndexError, NodeIndexError),
    (TypeError, NodeTypeError),
    (MemoryError, NodeMemoryError),
    (ArithmeticError, NodeArithmeticError),
    (ValueError, NodeValueError),
)


def describe_value(value: Any) -> str:
    """Return ``float64 of shape (2, 3)`` for an array, the class name for anything else."""
    shape = getattr(value, "shape", None)
    if shape is None:
        return type(value).__name__
    return f"{getattr(value, 'dtype', type(value).__name__)} of shape {tuple(shape)}"


def node_error(node: Apply, error: Exception, values: Sequence[Any] | None = None) -> NodeError:
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
    nodes it was made of.
    """
    if isinstance(error, NodeError):
        return error
    blame = getattr(node.op, "blame", None)
    culprit = blame(node, values) if blame is not None and values is not None else None
    shown = node if culprit is None else culprit
    given = "" if values is None else f" The inputs are {', '.join(map(describe_value, values)) or 'none'}."
    text = str(error) or type(error).__name__
    msg = f"{shown.op}: {text.rstrip('. ')}{shown.where()}.{given}"
    for kind, made in _KINDS:
        if isinstance(error, kind):
            return made(msg)
    return NodeError(msg)


def raise_node_error(node: Apply, error: Exception, values: Sequence[Any] | None = None) -> NoReturn:
    """Raise the error for a node that failed (see `node_error`)."""
    raise node_error(node, error, values) from error
