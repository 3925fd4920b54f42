"""The methods of generators that return or reorder arrays given as values."""

from __future__ import annotations

import math
import warnings
from collections.abc import MutableSequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.tensor.arguments.values import as_choice, as_integer
from treadle.tensor.random.methods.generator_methods import GeneratorMethods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class ArrayMethods(GeneratorMethods):
    """Methods with the names, parameters and defaults of ``numpy.random.Generator``, for values only."""

    __slots__ = ()

    def bytes(self, length: int) -> bytes:
        """Return random bytes."""
        count = as_integer("bytes: length", length, 0)
        drawn: bytes = self.draw("bits", (-(-count // 4),), "uint32").astype("<u4").tobytes()[:count]
        return drawn

    def permutation(self, x: ArrayLike, axis: int = 0) -> np.ndarray:
        """Return the integers up to a number, or the parts of an array along an axis, in any order."""
        array = np.asarray(x)
        if array.ndim == 0:
            return self._order(as_integer("permutation: x", x, 0))
        return array.take(self._order(array.shape[axis]), axis)

    def _order(self, n: int) -> np.ndarray:
        order: np.ndarray = self.permuted_positions(n, ())
        return order

    def permuted(self, x: ArrayLike, *, axis: int | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return the elements of an array in any order; with an axis, each line along it in an order of its own."""
        array = np.asarray(x)
        if axis is None:
            permuted: np.ndarray = array.ravel()[self._order(array.size)].reshape(array.shape)
        else:
            lines = np.moveaxis(array, axis, -1)
            order = self.permuted_positions(lines.shape[-1], lines.shape[:-1])
            permuted = np.moveaxis(np.take_along_axis(lines, order, -1), -1, axis)
        if out is None:
            return permuted
        out[...] = permuted
        return out

    def shuffle(self, x: np.ndarray | MutableSequence[Any], axis: int = 0) -> None:
        """Bring the parts of an array along an axis, or the items of a list, into any order, in place."""
        if isinstance(x, np.ndarray):
            x[...] = x.take(self._order(x.shape[axis]), axis)
        elif isinstance(x, MutableSequence) and axis == 0:
            x[:] = [x[k] for k in self._order(len(x))]
        else:
            msg = f"shuffle: an array, or a list and axis 0, is needed, got {text_of(x)}. Use permutation(x)."
            raise TypeError(msg)

    def choice(
        self,
        a: ArrayLike,
        size: int | Sequence[int] | None = None,
        replace: bool = True,
        p: ArrayLike | None = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """Return parts of an array along an axis, or integers up to a number; NumPy's `shuffle` makes no difference."""
        array = np.asarray(a)
        shape = self.shape_for(() if size is None else size)
        count = math.prod(shape)
        n = array.shape[axis] if array.ndim else as_integer("choice: a", a)
        if n <= 0 and count:
            text = "a cannot be empty" if array.ndim else "a must be a positive integer"
            msg = f"{text} unless no samples are taken"
            raise ValueError(msg)
        weights = None if p is None else self._weights(np.asarray(p, "float64"), n)
        if not replace:
            at = self.chosen_positions(n, count, weights, ()).reshape(shape)
        elif weights is None:
            at = self.integers(0, max(n, 1), shape)
        else:
            sums = np.cumsum(weights)
            at = np.searchsorted(sums / sums[-1], self.random(shape), side="right")
        return (at if array.ndim == 0 else array.take(at, axis))[() if size is None else ...]

    def _weights(self, p: np.ndarray, n: int) -> np.ndarray:
        if p.ndim != 1 or p.size != n:
            msg = "p must be 1-dimensional" if p.ndim != 1 else "a and p must have same size"
            raise ValueError(msg)
        self.require(p >= 0, p, "Probabilities are not non-negative, or contain NaN")
        self.require(abs(math.fsum(p) - 1) <= 1e-8, p, "Probabilities do not sum to 1")
        return p

    def multivariate_normal(
        self,
        mean: ArrayLike,
        cov: ArrayLike,
        size: int | Sequence[int] | None = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
    ) -> np.ndarray:
        """Return normal vectors of a mean and a matrix of covariances."""
        as_choice("multivariate_normal: method", method, ("eigh", "svd", "cholesky"))
        as_choice("multivariate_normal: check_valid", check_valid, ("warn", "raise", "ignore"))
        centre, matrix = np.asarray(mean, "float64"), np.asarray(cov, "float64")
        if centre.ndim != 1 or matrix.shape != 2 * centre.shape:
            msg = f"mean and cov must have same length, got shapes {centre.shape} and {matrix.shape}"
            raise ValueError(msg)
        if method == "cholesky":
            factor = np.linalg.cholesky(matrix)
        else:
            values, vectors = np.linalg.eigh(matrix)
            text = "covariance is not symmetric positive-semidefinite."
            valid = np.all(values >= -tol * max(1.0, np.abs(values).max(initial=0))) and np.allclose(matrix, matrix.T)
            if method == "svd":
                vectors, values, _ = np.linalg.svd(matrix)
            if not valid and check_valid == "raise":
                raise ValueError(text)
            if not valid and check_valid == "warn":
                warnings.warn(text, RuntimeWarning, stacklevel=2)
            factor = vectors * np.sqrt(np.abs(values))
        z = self.standard_normal((*self.shape_for(() if size is None else size), centre.size), "float64")
        draws: np.ndarray = centre + z @ factor.T
        return draws
