"""Windows: weights of a signal's elements that fall off towards both ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from treadle.graph import composed
from treadle.tensor.elementwise.arithmetic import abs_, add, maximum, mul, sub, true_div
from treadle.tensor.elementwise.exponential import sqrt
from treadle.tensor.elementwise.trigonometric import cos
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.special_functions.bessel_functions import i0
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def places(what: str, m: TensorLike) -> TensorVariable:
    """Return the places of a window's elements, from -1 to 1; that of a single one is 0."""
    count = as_tensor_variable(m)
    if count.ndim or count.type.numpy_dtype.kind not in "iu":
        msg = f"{what}: the number of points must be an integer, got {count} of type {count.type}. Cast it to int64."
        raise ShapeError(msg)
    n = count.astype("int64")
    result: TensorVariable = true_div(arange(sub(1, n), n, 2), maximum(sub(n, 1), 1))
    return result


def _cosines(x: TensorVariable, constant: float, once: float, twice: float = 0.0) -> TensorVariable:
    result: TensorVariable = add(constant, mul(once, cos(mul(math.pi, x))))
    return add(result, mul(twice, cos(mul(2 * math.pi, x)))) if twice else result


@composed
def bartlett(M: TensorLike) -> TensorVariable:  # noqa: N803 - NumPy's name
    """Return a triangular window of M points with zeros at both ends (as numpy.bartlett).

    Examples
    --------
    >>> tt.bartlett(3).eval()
    array([0., 1., 0.])
    """
    result: TensorVariable = sub(1.0, abs_(places("bartlett", M)))
    return result


@composed
def hanning(M: TensorLike) -> TensorVariable:  # noqa: N803 - NumPy's name
    """Return the Hann window of M points (as numpy.hanning).

    Examples
    --------
    >>> tt.hanning(3).eval().round(6)
    array([0., 1., 0.])
    """
    return _cosines(places("hanning", M), 0.5, 0.5)


@composed
def hamming(M: TensorLike) -> TensorVariable:  # noqa: N803 - NumPy's name
    """Return the Hamming window of M points (as numpy.hamming).

    Examples
    --------
    >>> tt.hamming(3).eval().round(6)
    array([0.08, 1.  , 0.08])
    """
    return _cosines(places("hamming", M), 0.54, 0.46)


@composed
def blackman(M: TensorLike) -> TensorVariable:  # noqa: N803 - NumPy's name
    """Return the Blackman window of M points (as numpy.blackman).

    Examples
    --------
    >>> tt.blackman(3).eval().round(6)
    array([-0.,  1., -0.])
    """
    return _cosines(places("blackman", M), 0.42, 0.5, 0.08)


@composed
def kaiser(M: TensorLike, beta: TensorLike) -> TensorVariable:  # noqa: N803 - NumPy's name
    """Return the Kaiser window of M points (as numpy.kaiser); the larger beta, the narrower it is.

    Examples
    --------
    >>> tt.kaiser(3, 0.0).eval()
    array([1., 1., 1.])
    """
    x, width = places("kaiser", M), as_tensor_variable(beta)
    result: TensorVariable = true_div(i0(mul(width, sqrt(sub(1.0, mul(x, x))))), i0(width))
    return result
