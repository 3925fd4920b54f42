"""A small graph of linear algebra with known values, by which ``treadle doctor`` tries each backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.tensor.linalg.decompositions.cholesky import cholesky
from treadle.tensor.linalg.linear_systems import solve
from treadle.tensor.types.tensor_type import TensorType


def cases() -> list[tuple[str, list[Any], list[Any], list[Any], list[Any]]]:
    """Return a graph of a Cholesky factor and a solution."""
    a: Any = TensorType("float64", (None, None)).make_variable("a")
    b: Any = TensorType("float64", (None,)).make_variable("b")
    matrix, right = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    expected = [np.linalg.cholesky(matrix), np.linalg.solve(matrix, right)]
    return [("linear algebra", [a, b], [cholesky(a), solve(a, b)], [matrix, right], expected)]
