"""Errors of tensor expressions."""

from __future__ import annotations

from numpy.exceptions import AxisError as NumpyAxisError
from numpy.linalg import LinAlgError

from treadle.config import TreadleWarning
from treadle.graph import CallError, GraphError


class TensorTypeError(CallError, TypeError):
    """A value, dtype or rank does not fit where a tensor is needed."""


class ConflictingAssumptionsError(TensorTypeError, ValueError):
    """Facts that were said of a tensor contradict each other."""


class MaskedArrayError(TensorTypeError, NotImplementedError):
    """An array with a mask was given, which tensors do not have."""


class MissingValueError(TensorTypeError, ValueError):
    """A value is missing where it cannot be NaN."""


class ShapeError(CallError, ValueError):
    """Static shapes do not fit together."""


class SpecifiedShapeError(ShapeError, AssertionError):
    """A tensor has not the shape that was said of it."""


class DtypeError(CallError, TypeError):
    """No dtype rule covers the dtypes given, or a value does not fit a dtype."""


class ArgumentError(CallError, ValueError):
    """An argument has a value that the function does not take."""


class AxisError(CallError, NumpyAxisError):
    """An axis is out of range or named twice."""


class MatrixError(GraphError, LinAlgError):
    """A matrix has no result: it is singular, not positive definite, or an iteration did not converge."""


class MatrixShapeError(ShapeError, LinAlgError):
    """A matrix is needed, or a square one, and something else was given."""


class NumpyFunctionError(CallError, TypeError, NotImplementedError):
    """A function of NumPy's, or an argument of one, has no counterpart for symbolic tensors."""


class IndexingError(CallError, IndexError):
    """An index expression is not understood, or is out of bounds for the static shape."""


class NotScalarConstantError(GraphError, ValueError):
    """A tensor is not known to be one number in every element."""


class DisconnectedInputError(CallError, ValueError):
    """A gradient was asked for with respect to something the cost does not depend on."""


class NullTypeGradError(GraphError, TypeError):
    """A gradient was asked for that is not defined."""


class Float64Error(GraphError, TypeError):
    """A float64 variable was made, which the option warn_float64 forbids."""


class Float64Warning(TreadleWarning):
    """A float64 variable was made, which the option warn_float64 reports."""


class IntegerDivisionError(GraphError, TypeError):
    """Two integers were divided with ``/``, which the option int_division forbids."""


class GradientError(GraphError, AssertionError):
    """A symbolic gradient and finite differences disagree."""
