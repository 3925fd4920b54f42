"""treadle.tensor.optimize: minima and roots of expressions, and fixed points of functions, as expressions."""

from treadle.tensor.optimize.optimize import (
    FixedPoint,
    Optimum,
    fixed_point,
    minimize,
    minimize_scalar,
    root,
    root_scalar,
)

__all__ = [
    "FixedPoint",
    "Optimum",
    "fixed_point",
    "minimize",
    "minimize_scalar",
    "root",
    "root_scalar",
]
