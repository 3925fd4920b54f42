"""Functions on vectors of the C library (glibc's libmvec), which compiled loops call."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LIBMVEC = "libmvec.so.1"
# The C names of the functions that it may have, each with its number of operands.
VECTOR_FUNCTIONS: Mapping[str, int] = MappingProxyType(
    {
        "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1, "sin": 1, "cos": 1, "tan": 1,
        "asin": 1, "acos": 1, "atan": 1, "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1,
        "cbrt": 1, "erf": 1, "erfc": 1, "pow": 2, "atan2": 2, "hypot": 2,
    }
)  # fmt: skip
# Left out, since some results are wrong by nearly four units in the last place: erff(3.6533227) by 3.99999 (all of
# float32 was tried; docs/simd_accuracy.md).
INACCURATE = frozenset({"erff"})
