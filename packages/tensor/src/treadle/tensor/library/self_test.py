"""Small graphs with known values, by which ``treadle doctor`` tries each backend.

An entry of the group ``treadle.self_tests`` is a function without arguments that returns such graphs: tuples of a name,
the inputs, the outputs, values of the inputs, and what the outputs are then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.elementwise.exponential import log, sigmoid
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable

    SelfTest = tuple[str, Sequence[Variable], Sequence[Variable], Sequence[Any], Sequence[Any]]


def cases() -> list[SelfTest]:
    """Return graphs of elementwise functions, reductions, products, indexing and a gradient."""
    x: Any = TensorType("float64", (None, None)).make_variable("x")
    w: Any = TensorType("float64", (None,)).make_variable("w")
    data, weights = np.linspace(-2, 2, 12).reshape(4, 3), np.array([0.5, -1.0, 2.0])
    loss: Any = -log(sigmoid(x @ w)).mean()
    share = 1 / (1 + np.exp(-data @ weights))
    gradient = -((1 - share) @ data) / len(data)
    return [
        ("a gradient", [x, w], [loss, grad(loss, w)], [data, weights], [-np.log(share).mean(), gradient]),
        ("indexing", [x], [x[1:, ::2].sum(axis=0), x.T], [data], [data[1:, ::2].sum(axis=0), data.T]),
    ]
