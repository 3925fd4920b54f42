"""Matrices that a size alone decides: constants, as SciPy makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import as_count, as_flag
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.errors import ArgumentError
from treadle.tensor.lazy import lazy_scipy_module
from treadle.tensor.types.conversion import constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike
    from scipy import linalg

    from treadle.tensor.variables.variable import TensorConstant
else:
    linalg = lazy_scipy_module("linalg")

__all__ = ["dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal"]

_KINDS = ("symmetric", "lower", "upper")

# Matrices of more rows fill the memory: these are constants, held whole.
_MOST_ROWS = 2**15

# SciPy computes each of these coefficients in Python, and floats overflow long before.
_MOST_COEFFICIENTS = 1000


def _size(what: str, n: int, least: int = 0, most: int = _MOST_ROWS) -> int:
    return as_count(f"{what}: n", n, least, most)


def dft(n: int, scale: str | None = None) -> TensorConstant:
    """Return the matrix of the discrete Fourier transform (as scipy.linalg.dft).

    Parameters
    ----------
    n
        Its size.
    scale
        What it is divided by: None for 1, ``"sqrtn"`` for the square root of n, or ``"n"``.

    Examples
    --------
    >>> dft(2).data.real.round()
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    as_choice("dft: scale", scale, (None, "sqrtn", "n"))
    return constant(linalg.dft(_size("dft", n), scale))


def hadamard(n: int, dtype: DTypeLike = int) -> TensorConstant:
    """Return a matrix of 1 and -1 with orthogonal rows (as scipy.linalg.hadamard), by Sylvester's construction.

    Parameters
    ----------
    n
        Its size, a power of 2.
    dtype
        Its dtype.

    Raises
    ------
    ArgumentError
        If n is not a power of 2.

    Examples
    --------
    >>> tt.linalg.hadamard(2).eval()
    array([[ 1,  1],
           [ 1, -1]])
    """
    size = _size("hadamard", n, 1)
    if size & (size - 1):
        msg = f"hadamard: n must be a positive integer, and a power of 2, got {size}."
        raise ArgumentError(msg)
    return constant(linalg.hadamard(size, TensorType(dtype).numpy_dtype))


def helmert(n: int, full: bool = False) -> TensorConstant:
    """Return Helmert's matrix of contrasts (as scipy.linalg.helmert), with its first, constant row if `full`.

    Examples
    --------
    >>> tt.linalg.helmert(2).eval().round(6)
    array([[ 0.707107, -0.707107]])
    """
    return constant(linalg.helmert(_size("helmert", n, 1), as_flag("helmert: full", full)))


def hilbert(n: int) -> TensorConstant:
    """Return Hilbert's matrix, with elements 1 / (i + j + 1) (as scipy.linalg.hilbert).

    Examples
    --------
    >>> tt.linalg.hilbert(2).eval().round(6)
    array([[1.      , 0.5     ],
           [0.5     , 0.333333]])
    """
    return constant(linalg.hilbert(_size("hilbert", n)))


def invhilbert(n: int, exact: bool = False) -> TensorConstant:
    """Return the inverse of Hilbert's matrix (as scipy.linalg.invhilbert).

    Parameters
    ----------
    n
        Its size.
    exact
        Whether it is of int64, which holds it up to n = 14, instead of float64.

    Raises
    ------
    ArgumentError
        If integers cannot hold it.

    Examples
    --------
    >>> tt.linalg.invhilbert(2).eval()
    array([[ 4., -6.],
           [-6., 12.]])
    """
    size = _size("invhilbert", n, most=_MOST_COEFFICIENTS)
    return _integers("invhilbert", linalg.invhilbert(size, as_flag("invhilbert: exact", exact)))


def pascal(n: int, kind: str = "symmetric", exact: bool = True) -> TensorConstant:
    """Return Pascal's matrix, of binomial coefficients (as scipy.linalg.pascal).

    Parameters
    ----------
    n
        Its size.
    kind
        ``"lower"`` and ``"upper"`` for triangles, ``"symmetric"`` for the product of the two.
    exact
        Whether it is of uint64, which holds it up to n = 34, instead of float64.

    Raises
    ------
    ArgumentError
        If integers cannot hold it, or `kind` is something else.

    Examples
    --------
    >>> pascal(3, "lower").data
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 2, 1]], dtype=uint64)
    """
    as_choice("pascal: kind", kind, _KINDS)
    return _integers(
        "pascal", linalg.pascal(_size("pascal", n, most=_MOST_COEFFICIENTS), kind, as_flag("pascal: exact", exact))
    )


def invpascal(n: int, kind: str = "symmetric", exact: bool = True) -> TensorConstant:
    """Return the inverse of Pascal's matrix (as scipy.linalg.invpascal), int64 if `exact`; see `pascal`.

    Examples
    --------
    >>> tt.linalg.invpascal(2).eval()
    array([[ 2, -1],
           [-1,  1]])
    """
    as_choice("invpascal: kind", kind, _KINDS)
    matrix = linalg.invpascal(_size("invpascal", n, most=_MOST_COEFFICIENTS), kind, as_flag("invpascal: exact", exact))
    return _integers("invpascal", matrix)


def _integers(what: str, matrix: np.ndarray) -> TensorConstant:
    """Return a constant, unless SciPy needed integers of Python."""
    if matrix.dtype == object:
        msg = f"{what}: integers of 64 bits cannot hold a matrix of size {matrix.shape[0]}. Pass exact=False."
        raise ArgumentError(msg)
    return constant(matrix)
