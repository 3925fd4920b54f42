"""float16 in C: the same bits whether the processor converts blocks of it or not."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.config import config
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HALVES = np.arange(1 << 16, dtype="uint16").view("float16")
# Without NaN in which a bit says that it signals, which conversions clear or keep.
QUIET = HALVES[~np.isnan(HALVES) | (HALVES.view("uint16") & 0x200 != 0)]


@pytest.fixture(params=["", "-mno-f16c"])
def linked(request: pytest.FixtureRequest, link: Any) -> Iterator[Callable[..., Any]]:
    """Link for this processor, and as if it could not convert float16."""
    if request.param and platform.machine() not in {"x86_64", "AMD64"}:
        pytest.skip("a flag for x86-64")
    with config.change_flags(gcc__cxxflags=request.param):
        yield link


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(f"uint{8 * x.itemsize}")


def test_all_numbers_are_widened(linked: Any) -> None:
    x = TensorType("float16", (None,))("x")
    program = linked([x], [tt.cast(x, "float32"), tt.cast(x, "float64")])
    for operand in (QUIET, QUIET[::-1], QUIET[::3]):
        single, double = program(operand)
        np.testing.assert_array_equal(bits(single), bits(operand.astype("float32")))
        np.testing.assert_array_equal(bits(double), bits(operand.astype("float64")))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_between_two_are_rounded_to_the_nearest(dtype: str, linked: Any) -> None:
    finite = np.sort(HALVES[np.isfinite(HALVES)]).astype(dtype)
    middle = (finite[:-1] + finite[1:]) / 2
    edges = np.array([65519.99, 65520, 65536, 1e38, np.inf, np.nan, -np.nan, 2**-25, 2**-24, 1e-40, 0.0, -0.0], dtype)
    numbers = np.concatenate([finite, middle, np.nextafter(middle, np.inf, dtype=dtype), -edges, edges])
    numbers = np.concatenate([numbers, np.nextafter(middle, -np.inf, dtype=dtype)])
    x = TensorType(dtype, (None,))("x")
    program = linked([x], [tt.cast(x, "float16")])
    with np.errstate(over="ignore"):
        for operand in (numbers, numbers[::-1], numbers[::3]):
            np.testing.assert_array_equal(bits(program(operand)[0]), bits(operand.astype("float16")))


def test_each_operation_is_rounded(linked: Any) -> None:
    x, y = (TensorType("float16", (None, None))(name) for name in "xy")
    program = linked([x, y], [x * y + x, tt.cast(x * y, "float32"), tt.switch(x < y, x, -y), x - 1])
    rng = np.random.default_rng(7)
    a, b = rng.choice(HALVES[np.isfinite(HALVES)], (2, 70, 31))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for v, w in ((a, b), (a[::-1, ::2], b[:, ::2]), (a.T, b.T), (a[:1], b), (a[:, 3:4], b), (a[:0], b[:0])):
            expected = [v * w + v, (v * w).astype("float32"), np.where(v < w, v, -w), v - np.float16(1)]
            for result, wanted in zip(program(v, w), expected, strict=True):
                np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("length", [1, 7, 40, 600])
def test_reductions_are_of_single_precision(length: int, linked: Any) -> None:
    x = TensorType("float16", (None, None))("x")
    program = linked([x], [x.sum(0), x.sum(1), x.max(0), x.min(1), (x * x).sum(), x.any(1), tt.argmax(x, axis=1)])
    rng = np.random.default_rng(length)
    for v in (rng.integers(-9, 9, (5, length)) / 8, rng.integers(-9, 9, (length, 6)) / 8):
        for a in (v.astype("float16"), v.astype("float16")[::-1, ::-1], np.asfortranarray(v.astype("float16"))):
            wide = a.astype("float64")
            expected = [
                wide.sum(0), wide.sum(1), a.max(0), a.min(1), (a * a).astype("float64").sum(), a.any(1), a.argmax(1),
            ]  # fmt: skip
            for result, wanted in zip(program(a), expected, strict=True):
                np.testing.assert_array_equal(result, np.asarray(wanted).astype(result.dtype))
