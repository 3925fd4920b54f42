"""Notes on errors that ops and features raise, when graphs are built, differentiated, rewritten and linked.

What fails while a program runs becomes an error of its own (`treadle.graph.diagnostics.failure`); these errors keep
their class.
"""

from __future__ import annotations

from typing import Any

from treadle.config import TreadleError, text_of

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
