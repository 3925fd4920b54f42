"""Every function of complex numbers at zeros, infinities, NaN and out of range: compiled code gives NumPy's values."""

from __future__ import annotations

import numpy as np
import pytest

from treadle import tensor as tt
from treadle.compile import function

PARTS = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-3, 50.0)
ONE = {
    **{name: name for name in (
        "sign", "reciprocal", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
        "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "real", "imag", "conj",
        "angle", "isnan", "isinf", "isfinite", "logical_not", "positive", "rint",
    )},
    "neg": "negative", "abs": "absolute", "sqr": "square", "identity": "copy",
}  # fmt: skip
TWO = {
    "add": "add", "sub": "subtract", "mul": "multiply", "true_div": "divide", "pow": "power", "eq": "equal",
    "neq": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "logical_and": "logical_and",
}  # fmt: skip


def _same(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    """Whether numbers agree: each part relative to the absolute value, zeros in their signs where they are exact."""
    if expected.dtype.kind == "b":
        return bool((actual == expected).all())
    size = np.where(np.isfinite(abs(expected)), abs(expected), 0)
    parts = [(actual.real, expected.real)]
    if expected.dtype.kind == "c":
        parts.append((actual.imag, expected.imag))
    near = [np.abs(a - b) <= tolerance * size for a, b in parts]
    equal = [(a == b) | (np.isnan(a) & np.isnan(b)) for a, b in parts]
    signs = [(np.signbit(a) == np.signbit(b)) | np.isnan(b) | (np.abs(b) < tolerance * size) for a, b in parts]
    return all(bool(((n | e) & s).all()) for n, e, s in zip(near, equal, signs, strict=True))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("mode", ["C", "NUMBA"])
def test_complex_functions_give_what_numpy_gives_at_special_values(mode: str, dtype: str) -> None:
    values = np.array([complex(a, b) for a in PARTS for b in PARTS] + [1e30 + 2e30j, 0.3 - 0.7j], dtype)
    x, y = (tt.tensor(dtype=dtype, shape=shape) for shape in ((None, 1), (1, None)))
    built = {**{name: getattr(tt, name)(x) for name in ONE}, **{name: getattr(tt, name)(x, y) for name in TWO}}
    results = function([x, y], list(built.values()), mode=mode)(values[:, None], values[None])
    with np.errstate(all="ignore"):
        expected = [getattr(np, theirs)(values[:, None]) for theirs in ONE.values()]
        expected += [getattr(np, theirs)(values[:, None], values[None]) for theirs in TWO.values()]
    tolerance = 1e-5 if dtype == "complex64" else 1e-13
    with np.errstate(all="ignore"):
        different = [
            name
            for name, actual, wanted in zip(built, results, expected, strict=True)
            if actual.dtype != wanted.dtype or not _same(actual, wanted, tolerance)
        ]
    # NumPy multiplies and adds at once where the sum overflows; Numba computes powers of complex64 in complex128.
    assert set(different) <= {"sqr", "mul", *(["pow"] if mode == "NUMBA" and dtype == "complex64" else [])}
