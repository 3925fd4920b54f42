"""What PyTensor's ops of minima and roots are made with, for programs that hand functions to SciPy themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from treadle.compile import Function
    from treadle.tensor import TensorType

__all__ = ["LRUCache1"]


class LRUCache1:
    """A compiled function that remembers its last point, so that value, gradient and Hessian are computed once.

    Parameters
    ----------
    fn
        A function of a point, and of arguments that stay the same. Its results are the value, then the gradient, then
        the Hessian; any of the latter may be absent.
    copy_x
        Whether to keep a copy of the point, for callers that change it in place.
    """

    def __init__(self, fn: Function, copy_x: bool = False) -> None:
        self.fn = fn
        self.copy_x = copy_x
        self.dtype = cast("TensorType", fn.maker.fgraph.inputs[0].type).dtype
        self.last_x: np.ndarray | None = None
        self.last_result: Sequence[np.ndarray] | None = None
        self.cache_hits = self.cache_misses = 0
        self.value_calls = self.grad_calls = self.value_and_grad_calls = self.hess_calls = 0

    def __call__(self, x: ArrayLike, *args: object) -> Sequence[np.ndarray]:
        """Return the results at a point; other arguments are not compared with those of the last call."""
        point = np.asarray(x, dtype=self.dtype)
        if self.last_result is not None and np.all(point == self.last_x):
            self.cache_hits += 1
        else:
            self.cache_misses += 1
            self.last_x = point.copy() if self.copy_x else point
            self.last_result = cast("Sequence[np.ndarray]", self.fn(self.last_x, *args))
        return self.last_result

    def value(self, x: ArrayLike, *args: object) -> np.ndarray:
        """Return the value at a point."""
        self.value_calls += 1
        return self(x, *args)[0]

    def grad(self, x: ArrayLike, *args: object) -> np.ndarray:
        """Return the gradient at a point."""
        self.grad_calls += 1
        return self(x, *args)[1]

    def value_and_grad(self, x: ArrayLike, *args: object) -> Sequence[np.ndarray]:
        """Return value and gradient at a point."""
        self.value_and_grad_calls += 1
        return self(x, *args)[:2]

    def hess(self, x: ArrayLike, *args: object) -> np.ndarray:
        """Return the Hessian at a point."""
        self.hess_calls += 1
        return self(x, *args)[-1]
