"""Conversions of arguments, one for each kind, applied where they enter."""

from __future__ import annotations

from typing import Any

from treadle.config import text_of
from treadle.graph.errors import GraphTypeError
from treadle.graph.ir.variable import as_index


def as_flag(what: str, value: object) -> bool:
    """Return an argument as a truth value: True, False (Python's or NumPy's), or the integers 1 and 0.

    Parameters
    ----------
    what
        Whose argument it is and which, for messages: ``"sum: keepdims"``.
    value
        The argument.

    Raises
    ------
    GraphTypeError
        If it is something else.

    Examples
    --------
    >>> as_flag("solve: lower", np.True_)
    True
    """
    if isinstance(value, bool):
        return value
    kind = type(value)
    if (kind.__module__, kind.__name__) == ("numpy", "bool") or as_index(value) in {0, 1}:
        return bool(value)
    msg = f"{what} must be True or False, got {text_of(value)}. Pass one of the two."
    raise GraphTypeError(msg)


def as_count(what: str, value: object, least: int = 0, most: int = 10_000) -> int:
    """Return an argument as an integer that counts something.

    Parameters
    ----------
    what
        Whose argument it is and which, for messages.
    value
        The argument.
    least, most
        The least and the largest integer that are taken: a larger count would be a mistake.

    Raises
    ------
    GraphTypeError
        If it is no integer, or out of these bounds.

    Examples
    --------
    >>> as_count("resize: length", np.int64(3))
    3
    """
    number = None if isinstance(value, bool) else as_index(value)
    if number is None or not least <= number <= most:
        msg = f"{what} must be an integer from {least} to {most}, got {text_of(value)}. Pass one."
        raise GraphTypeError(msg)
    return number


def check_name(what: str, name: object) -> None:
    """Check that a name is a text, or None.

    Raises
    ------
    GraphTypeError
        If it is something else.

    Examples
    --------
    >>> check_name("tensor", "x")
    """
    if not (name is None or isinstance(name, str)):
        msg = f"{what}: name must be a string, or None, got {text_of(name)}. Pass name='...' or leave it out."
        raise GraphTypeError(msg)


def as_list(value: Any) -> list[Any] | None:
    """Return an iterable as a list; None for anything else.

    Examples
    --------
    >>> as_list((1, 2)), as_list(3) is None
    ([1, 2], True)
    """
    try:
        return list(value)
    except TypeError:
        return None
