"""The gradient that an op's `pullback` returns where it is undefined, with the reason that an error shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import NullType

if TYPE_CHECKING:
    from treadle.graph import Variable

__all__ = ["grad_not_implemented", "grad_undefined"]


def grad_undefined(op: object, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return what an op's `pullback` gives for an input by which no derivative exists.

    Parameters
    ----------
    op
        The op.
    x_pos, x
        Position of the input, and the input.
    comment
        Why there is none.
    """
    return NullType(f"{op} has no derivative by input {x_pos}, {x}" + (f": {comment}" if comment else ""))()


def grad_not_implemented(op: object, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return what an op's `pullback` gives for an input by which nobody has written the derivative yet.

    Parameters
    ----------
    op
        The op.
    x_pos, x
        Position of the input, and the input.
    comment
        What is missing.
    """
    why = f"the derivative of {op} by input {x_pos}, {x}, is not written"
    return NullType(f"{why}: {comment}" if comment else why)()
