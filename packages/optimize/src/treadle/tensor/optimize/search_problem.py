"""What searches by loops have in common: the expression as a function of x, and the state of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.elementwise.arithmetic import abs_
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.exponential import sqrt
from treadle.tensor.elementwise.logic import and_
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.reductions.reduction import max_, sum_
from treadle.tensor.shapes.shape import lengths, reshape
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import FrozenFunctionGraph, Variable
    from treadle.tensor.variables.variable import TensorVariable

    State = dict[str, TensorVariable]
    Solution = tuple[TensorVariable, TensorVariable]
    Options = Mapping[str, Any]


class Problem:
    """The expression of a search as a function of x; x is flattened unless it is a scalar.

    The first input of the graph is x, and its first output is the expression.
    """

    def __init__(self, fgraph: FrozenFunctionGraph, inputs: Sequence[Variable]) -> None:
        self._fgraph = fgraph
        self._inputs = tensors(inputs)
        start = self._inputs[0]
        self._shape = lengths(start)
        self._ndim = start.ndim
        self.start = reshape(start, (-1,)) if start.ndim else start
        self.dtype: str = start.dtype
        self.eps = float(np.finfo(self.dtype).eps)

    def number(self, value: float) -> TensorVariable:
        """Return a number as a constant of the dtype of x."""
        return constant(value, dtype=self.dtype)

    def tolerance(self, value: float) -> TensorVariable:
        """Return a tolerance, no smaller than the precision of the dtype allows."""
        return self.number(max(float(value), 4 * self.eps))

    def value(self, x: TensorVariable) -> TensorVariable:
        """Return the expression at x, flattened unless it is a scalar."""
        point = reshape(x, self._shape, ndim=self._ndim) if self._ndim else x
        values = tensors(self._fgraph.bind([point, *self._inputs[1:]]))[0]
        return reshape(values, (-1,)) if values.ndim else values

    def sloped(self, x: TensorVariable) -> Solution:
        """Return a scalar expression at x, and its gradient."""
        value = self.value(x)
        return value, grad(value, x, disconnected_inputs="ignore", add_names=False)

    def unflat(self, x: TensorVariable) -> TensorVariable:
        """Return x in its own shape."""
        return reshape(x, self._shape, ndim=self._ndim) if self._ndim else x


def no_steps() -> TensorVariable:
    """Return a count of 0."""
    return constant(0, dtype="int64")


def false() -> TensorVariable:
    """Return a constant that is false."""
    return constant(False)


def all_of(*tests: TensorVariable) -> TensorVariable:
    """Return whether all of several tests hold."""
    result = tests[0]
    for test in tests[1:]:
        result = and_(result, test)
    return result


def chosen(test: TensorVariable, new: State, old: State) -> State:
    """Return the new values where a test holds, else the old ones."""
    return {name: switch(test, x, old[name]) for name, x in new.items()}


def largest(x: TensorVariable) -> TensorVariable:
    """Return the largest absolute value, 0 if there are no elements."""
    return max_(abs_(x), initial=0)


def size_of(x: TensorVariable) -> TensorVariable:
    """Return the Euclidean norm."""
    return sqrt(sum_(x * x))
