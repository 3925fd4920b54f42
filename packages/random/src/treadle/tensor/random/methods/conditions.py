"""Conditions on parameters of distributions: of values checked at once, of variables when the graph runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Variable
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from treadle.tensor.random.methods.generator_methods import Operand


def require(condition: Operand, value: Operand, text: str, kind: type[ValueError] = ValueError) -> Operand:
    """Return the value where a condition on it holds.

    Parameters
    ----------
    condition
        A boolean array or variable, of which all elements must be true.
    value
        What is returned; what is drawn must depend on it for the condition to be checked.
    text
        What the error says.
    kind
        Its class.

    Raises
    ------
    ValueError
        If the condition does not hold: at once, or when the graph runs.
    """
    if isinstance(condition, Variable):
        return CheckAndRaise(kind, text)(as_tensor_variable(value), condition)
    if not np.all(condition):
        raise kind(text)
    return value


def nonnegative(value: Operand, name: str) -> Operand:
    """Return a parameter of 0 or more, or NaN; the error has NumPy's words."""
    return require(np.logical_not(value < 0), value, f"{name} < 0")


def positive(value: Operand, name: str) -> Operand:
    """Return a parameter above 0, or NaN; the error has NumPy's words."""
    return require(np.logical_not(value <= 0), value, f"{name} <= 0")


def in_double(value: Operand) -> Operand:
    """Return a parameter in double precision: functions of small integers would be of less, and wrap around."""
    return cast(value, "float64") if isinstance(value, Variable) else np.asarray(value, "float64")


def checked_probabilities(p: Operand) -> Operand:
    """Return probabilities in float64, whose last dimension must sum to 1, with NumPy's tolerance.

    Raises
    ------
    ValueError
        If they are none, at once or when the graph runs.
    """
    kind = np.dtype(p.dtype)
    tolerance = np.sqrt(np.finfo(kind if kind.kind == "f" else "float64").eps)
    p = p.astype("float64")
    p = require(~np.isnan(p), p, "Probabilities contain NaN")
    p = require(p >= 0, p, "Probabilities are not non-negative")
    return require(np.abs(np.sum(p, -1) - 1) <= tolerance, p, "Probabilities do not sum to 1.")
