"""Records of functions that only combine ops, by subject; the ops have records in their families."""

from treadle.testing.records.composed import (
    linear_algebra_functions,
    linear_algebra_structured,
    linear_algebra_svd,
    linear_algebra_systems,
    numbers,
    sets,
    shapes,
)

__all__ = [
    "linear_algebra_functions",
    "linear_algebra_structured",
    "linear_algebra_svd",
    "linear_algebra_systems",
    "numbers",
    "sets",
    "shapes",
]
