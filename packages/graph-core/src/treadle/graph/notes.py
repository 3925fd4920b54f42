"""Notes on errors that an op's own methods raise, when graphs are built, differentiated, rewritten and linked.

What fails while a program runs becomes an error of its own (`treadle.graph.failure`); these errors keep their class.
"""

from __future__ import annotations

from typing import Any

from treadle.config import text_of


def note_op(error: BaseException, op: Any, method: str, where: str = "") -> None:
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
    An error that names op and line already gets no note; neither does one that has a note of them.
    """
    name = text_of(op, str)
    told = "\n".join((text_of(error, str), *getattr(error, "__notes__", ())))
    if name not in told or where not in told:
        error.add_note(f"Raised by {type(op).__name__}.{method} of {name}{where}.")
