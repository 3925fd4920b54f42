"""Comparing results with expected ones: dtype, shape, values, ownership."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from treadle.testing.domain import Array


def difference(
    actual: object, expected: Array, tolerance: tuple[float, float], signed_zeros: bool = False
) -> str | None:
    """Return how a backend's result differs from NumPy's, or None.

    `tolerance` is the (relative, absolute) error allowed between finite floats; integers and bools must be the
    same.
    """
    if not isinstance(actual, np.ndarray):
        return f"a NumPy array is needed, got {type(actual).__name__}"
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    wrong = ~_agree(actual, expected, tolerance)
    if signed_zeros:
        zeros = (expected == 0) & (actual == 0)
        wrong |= zeros & (np.signbit(actual) != np.signbit(expected))
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ, the first at {first}: "
        f"{actual[first]!r}, expected {expected[first]!r}"
    )


def _agree(actual: Array, expected: Array, tolerance: tuple[float, float]) -> Array:
    if expected.dtype.kind not in "fc":
        return np.asarray(actual == expected)
    rtol, atol = tolerance
    if expected.dtype == np.float16:
        actual, expected = actual.astype("float32"), expected.astype("float32")
    with np.errstate(all="ignore"):
        return np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)


def fits_static_shape(actual: Array, static: Sequence[int | None]) -> bool:
    """Whether an array has the lengths that were known when the graph was built."""
    return len(static) == actual.ndim and all(n is None or n == m for n, m in zip(static, actual.shape, strict=True))


def unowned(results: Sequence[object], inputs: Sequence[Array]) -> Iterator[tuple[int, str]]:
    """Yield (position, problem) for each result that the caller does not own."""
    for at, result in enumerate(results):
        if not isinstance(result, np.ndarray):
            yield at, f"a NumPy array is needed, got {type(result).__name__}"
        elif not result.flags.writeable:
            yield at, "the result is read-only"
        elif any(np.may_share_memory(result, x) for x in inputs):
            yield at, "the result shares memory with an input"
        elif any(np.may_share_memory(result, other) for other in results[:at]):
            yield at, "the result shares memory with another result"
