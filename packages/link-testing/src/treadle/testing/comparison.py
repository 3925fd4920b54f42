"""Comparing results with what was expected: dtype, shape, values, ownership."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.testing.domain import Array


def difference(
    found: object, expected: Array, tolerance: tuple[float, float], signed_zeros: bool = False
) -> str | None:
    """Return how a result differs from what was expected, or None.

    Parameters
    ----------
    found
        What a backend returned.
    expected
        What NumPy makes of it.
    tolerance
        (relative, absolute) error allowed between finite floats; integers and bools must be the same.
    signed_zeros
        Whether the sign of zeros counts.
    """
    if not isinstance(found, np.ndarray):
        return f"a NumPy array is needed, got {type(found).__name__}"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype}, expected {expected.dtype}"
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    wrong = ~_agree(found, expected, tolerance)
    if signed_zeros:
        zeros = (expected == 0) & (found == 0)
        wrong |= zeros & (np.signbit(found) != np.signbit(expected))
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ, the first at {first}: "
        f"{found[first]!r}, expected {expected[first]!r}"
    )


def _agree(found: Array, expected: Array, tolerance: tuple[float, float]) -> Array:
    if expected.dtype.kind not in "fc":
        return np.asarray(found == expected)
    rtol, atol = tolerance
    if expected.dtype == np.float16:
        found, expected = found.astype("float32"), expected.astype("float32")
    with np.errstate(all="ignore"):
        return np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)


def fits_static_shape(found: Array, static: Sequence[int | None]) -> bool:
    """Whether an array has the lengths that were known when the graph was built."""
    return len(static) == found.ndim and all(n is None or n == m for n, m in zip(static, found.shape, strict=True))


def unowned(results: Sequence[object], inputs: Sequence[Array]) -> Iterator[tuple[int, str]]:
    """Yield (position, problem) for each result that its caller cannot use as its own."""
    for at, found in enumerate(results):
        if not isinstance(found, np.ndarray):
            yield at, f"a NumPy array is needed, got {type(found).__name__}"
        elif not found.flags.writeable:
            yield at, "the result is read-only"
        elif any(np.may_share_memory(found, x) for x in inputs):
            yield at, "the result shares memory with an input"
        elif any(np.may_share_memory(found, other) for other in results[:at]):
            yield at, "the result shares memory with another result"
