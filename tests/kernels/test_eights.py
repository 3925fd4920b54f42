"""Eights of kernels mean the same in C, for LLVM and in Python."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pytest

from treadle.kernels import KernelError, kernel
from treadle.kernels.language import (
    Number,
    Pointer,
    convert,
    eight,
    eights,
    int64,
    local,
    numbers,
    select,
    sqrt,
    unweave,
    weave,
    which,
)
from treadle.testing import compiled_kernel

T = TypeVar("T", bound=Number)


@kernel(inline=True)
def eased(a: Pointer[T], b: T, n: int) -> T:
    """Return a sum of eights that are changed."""
    kept = local(T, 2)  # type: ignore[misc]
    kept[1] = convert(T, 0)  # type: ignore[misc]
    for i in range(n):
        x = a[i]
        small = (abs(x) < b) & ~(x == 0) | (x >= 7) ^ (x != x)
        a[i] = select(small, -sqrt(abs(x)) / 2, x * 2 - 1)
        kept[1] += a[i]
    return kept[1]  # type: ignore[no-any-return]


@kernel
def by_eights(x: Pointer[T], at: Pointer[int64], n: int, o: Pointer[T], room: Pointer[T]) -> int:
    """Weave, compute, and return masks."""
    a = eights(room)
    i = 0
    while i + 4 <= n:
        weave(x + i, at, a + i)
        i += 4
    for k in range(i, n):
        for lane in range(8):
            numbers(a)[8 * k + lane] = x[at[lane] + k]
    a[n] = eased(a, a[0] - a[0] + 3, n)
    found = which(~(a[n] > 0)) + 256 * which(a[n] <= a[0])
    unweave(a + (n - 3), o, at)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_eights_are_numbers_of_eight_places(dtype: str, mode: str) -> None:
    n = 6
    x = np.random.default_rng(2).integers(-9, 10, (8, n)).astype(dtype)
    x[2, 3], x[5, 1] = np.nan, 0
    order = np.array([3, 1, 7, 0, 2, 6, 5, 4])
    wanted = x[order]
    with np.errstate(invalid="ignore"):
        small = (np.abs(wanted) < 3) & (wanted != 0) | ((wanted >= 7) ^ np.isnan(wanted))
        wanted = np.where(small, -np.sqrt(np.abs(wanted)) / 2, wanted * 2 - 1).astype(dtype)
    total = np.zeros(8, dtype)
    for column in wanted.T:
        total += column
    out, room = np.zeros(8 * n, dtype), np.zeros(8 * (n + 1) + 16, dtype)
    masks, (_, _, found, _) = compiled_kernel(by_eights, x.ravel(), order * n, n, out, room, mode=mode)
    bits = [sum(1 << lane for lane in np.flatnonzero(mask)) for mask in (~(total > 0), total <= wanted[:, 0])]
    assert masks == bits[0] + 256 * bits[1]
    last = np.concatenate([wanted[:, n - 3 :], total[:, None]], axis=1)
    np.testing.assert_array_equal(found.reshape(8, n)[order, :4], last)


@kernel
def extremes_of_eight(x: Pointer[T], y: T, o: Pointer[T], room: Pointer[T]) -> int:
    """Compare eight numbers anywhere in memory with others and with one number, and return the masks."""
    a = eight(x)
    b = eight(x + 3)
    found = eights(room)
    found[0] = select(a > b, a, b)
    found[1] = select(a < b, a, b)
    found[2] = a - y
    for k in range(24):
        o[k] = numbers(found)[k]
    return which(a == y) + 256 * which(eight(x + 1) == b) + 65536 * which(a != b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_eight_numbers_are_read_wherever_they_are(dtype: str, mode: str) -> None:
    x = np.array([3, np.nan, 0, 2, -0.0, 5, np.nan, np.nan, 2, np.inf, -np.inf, 1], dtype)
    out, room = np.zeros(24, dtype), np.zeros(40, dtype)
    masks, (_, found, _) = compiled_kernel(extremes_of_eight, x, x.dtype.type(2), out, room, mode=mode)
    a, b = x[:8], x[3:11]
    with np.errstate(invalid="ignore"):
        wanted = np.concatenate([np.where(a > b, a, b), np.where(a < b, a, b), a - 2])
    np.testing.assert_array_equal(found, wanted)
    bits = [sum(1 << int(lane) for lane in np.flatnonzero(mask)) for mask in (a == 2, x[1:9] == b, a != b)]
    assert masks == bits[0] + 256 * bits[1] + 65536 * bits[2]


@kernel
def between(x: Pointer[T]) -> int:
    """Compare twice in one."""
    a = eights(x)
    return which(0 < a[0] < 1)


def test_eights_are_not_compared_twice_in_one() -> None:
    with pytest.raises(KernelError, match=r"two comparisons of eights in one, in line \d+: .* Join masks by &"):
        between(np.zeros(8))
