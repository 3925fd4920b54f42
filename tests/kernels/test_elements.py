"""Numbers as elements hold them, and parts of floats: the same in C, for LLVM and in Python."""

# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import pytest

from treadle.config import config
from treadle.kernels import kernel
from treadle.kernels.language import OK, Number, Pointer, Vector, bits, element, fmod, int64, uint64
from treadle.testing import check_kernel

T = TypeVar("T", bound=Number)
S = TypeVar("S", bound=Number)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with config.change_flags(compiledir=tmp_path_factory.mktemp("elements")):
        yield


@kernel
def doubled(x: Vector[T], o: Pointer[S], wide: Pointer[S]) -> int:
    """Double each number, and add 1 to what an element holds of it."""
    for i in range(len(x)):
        twice = element(S, x[i]) + element(S, x[i])
        wide[i] = twice
        o[i] = element(S, twice) + element(S, 1)
    return OK


@kernel
def held(x: Vector[T], o: Pointer[S]) -> int:
    """Write what elements hold."""
    for i in range(len(x)):
        o[i] = element(S, x[i])
    return OK


@kernel
def parts(x: Vector[T], o: Pointer[T], n: Pointer[int64], u: Pointer[uint64]) -> int:
    """Write remainders, bits and unsigned values."""
    for i in range(len(x)):
        o[i] = fmod(x[i], 3)
        n[i] = bits(x[i])
        u[i] = element(uint64, x[i])
    return OK


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_numbers_are_rounded_as_elements_of_float16_hold_them(source: str) -> None:
    # Between two numbers of float16, in the middle and above it by less than float32 tells of.
    x = np.array([1 + 2**-11, 1 + 2**-11 + 2**-40, 2049, 2051, 1e-8, 1e6, -np.inf, np.nan], "float64")
    with np.errstate(over="ignore"):
        x = x.astype(source)
        half = x.astype("float16")
    check_kernel(doubled, x, np.zeros(len(x), "float16"), np.zeros(len(x), "float16"))
    plain, wide = np.zeros(len(x), "float16"), np.zeros(len(x), "float16")
    doubled(x, plain, wide)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(wide, half + half)


@pytest.mark.parametrize("target", ["int8", "uint16", "int64", "uint64", "bool", "complex64"])
def test_integers_wrap_as_elements_hold_them(target: str) -> None:
    x = np.array([0, 1, 127, 128, 200, -1, -129, 70000, 2**40 + 3], "int64")
    check_kernel(held, x, np.zeros(len(x), target))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_have_bits_remainders_and_unsigned_values(dtype: str) -> None:
    x = np.array([0.0, -0.0, 7.5, -7.5, 1e-40, 2.0**63, 3.5e18], dtype)
    check_kernel(parts, x, np.zeros(7, dtype), np.zeros(7, "int64"), np.zeros(7, "uint64"))
