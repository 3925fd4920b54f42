"""Functions on blocks of numbers: errors over the whole range, special values, and no dependence on position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest

import treadle.tensor as tt
from tools.simd_accuracy import DTYPES, LIMIT, arguments, computed, errors, measure
from treadle.config import config
from treadle.link.c.runtime.vectors import BLOCK_FUNCTIONS
from treadle.link.c.toolchain import Toolchain, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable

SPECIAL = [
    0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1e30, -1e30, 5e-324, -5e-324,
    1e-45, -1e-45, 1e-310, -1e-310, 1e300, 709.0, 710.0, -745.0, -746.0, 88.0, 89.0, -104.0,
]  # fmt: skip
# Scalar ops built from functions on blocks. logaddexp is left out: near log(2) its terms cancel, as NumPy's do.
BUILT = ["sigmoid", "softplus", "log1mexp"]
NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "pow": "power", "atan2": "arctan2",
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BLOCK_FUNCTIONS)
def test_error_is_below_four_units_of_the_last_place(name: str, dtype: str) -> None:
    measured = measure(name, dtype, 700)
    assert measured.error < LIMIT, measured


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BLOCK_FUNCTIONS)
def test_error_is_below_four_units_at_many_more_arguments(name: str, dtype: str) -> None:
    for seed in range(1, 4):
        measured = measure(name, dtype, 30000, seed)
        assert measured.error < LIMIT, measured


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BLOCK_FUNCTIONS)
def test_special_values_are_numpys_or_scipys(name: str, dtype: str) -> None:
    special = pytest.importorskip("scipy.special")
    reference: Any = getattr(np, NUMPY.get(name, name), None) or getattr(special, name)
    with np.errstate(all="ignore"):
        values = np.array(SPECIAL).astype(dtype)
        if name in {"gammaln", "erfcinv"}:
            # SciPy's are infinite at subnormal numbers; the exact values are not.
            values = values[(np.abs(values) >= np.finfo(dtype).tiny) | (values == 0) | np.isnan(values)]
        operands = [values] if BLOCK_FUNCTIONS[name] == 1 else [a.ravel() for a in np.meshgrid(values, values)]
        results, expected = computed(name, *operands), reference(*operands)
        np.testing.assert_array_equal(np.isnan(results), np.isnan(expected))
        np.testing.assert_array_equal(np.isinf(results), np.isinf(expected))
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(results[known]), np.signbit(expected[known]))
        tiny = 2 * float(np.finfo(dtype).smallest_subnormal)
        np.testing.assert_allclose(results[known], expected[known], rtol=8 * float(np.finfo(dtype).eps), atol=tiny)


def test_digamma_below_zero_is_as_exact_as_the_terms_of_its_reflection() -> None:
    values = np.random.default_rng(2).uniform(-20, 0, 500)
    results = computed("digamma", values)
    with mpmath.workprec(160):
        for x, value in zip(values.tolist(), results.tolist(), strict=True):
            above = mpmath.digamma(1 - mpmath.mpf(x))
            true = above - mpmath.pi * mpmath.cot(mpmath.pi * x)
            assert abs(value - true) < 4 * 2.0**-53 * (abs(above) + abs(true - above) + 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BLOCK_FUNCTIONS)
def test_result_depends_neither_on_position_nor_on_length(name: str, dtype: str) -> None:
    operands = arguments(name, dtype, 700, seed=5)
    whole = computed(name, *operands)
    order = np.random.default_rng(1).permutation(len(whole))
    moved = computed(name, *(np.ascontiguousarray(x[order]) for x in operands))
    np.testing.assert_array_equal(bits(moved), bits(whole[order]))
    for length in [*range(1, 36), 64, 255]:
        at = 7 * length
        part = computed(name, *(x[at : at + length].copy() for x in operands))
        np.testing.assert_array_equal(bits(part), bits(whole[at : at + len(part)]))


def bits(values: Any) -> Any:
    """Return numbers by their bits, with one NaN for all: its bits carry no meaning."""
    plain = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    return plain.view("int64" if values.dtype == np.float64 else "int32")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BUILT)
def test_functions_built_of_them_are_as_accurate(name: str, dtype: str, link: Callable[..., Any]) -> None:
    x = tt.tensor(dtype=dtype, shape=(None,))
    program = link([x], [getattr(tt, name)(x)])
    data = arguments("exp", dtype, 500)[0]
    if name == "log1mexp":
        data = data[data < 0]
    # Where the exponential is subnormal, half a unit of it is as large as the rest of the result.
    data = data[np.abs(data) < (700 if dtype == "float64" else 85)]
    values = program(data)[0]
    assert float(errors(name, values, [data]).max()) < LIMIT


@pytest.mark.parametrize("flag", ["-mno-avx512f", "-mno-avx"])
def test_narrower_vectors_give_results_as_accurate(flag: str) -> None:
    toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    if "x86" not in toolchain.driver and not __import__("platform").machine().startswith(("x86", "AMD")):
        pytest.skip("this processor has no AVX")
    with config.change_flags(gcc__cxxflags=flag):
        for name in BLOCK_FUNCTIONS:
            for dtype in DTYPES:
                assert measure(name, dtype, 150).error < LIMIT


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_layout_gives_the_same_numbers(dtype: str, link: Callable[..., Any]) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None))
    program = link([x], [tt.tanh(x) * tt.exp(-x)])
    data = np.random.default_rng(0).normal(size=(33, 17)).astype(dtype)
    expected = program(data)[0]
    for view in (np.asfortranarray(data), np.repeat(data, 2, axis=1)[:, ::2], data[::-1].copy()[::-1]):
        np.testing.assert_array_equal(program(view)[0], expected)
    for i in range(0, 33, 5):
        np.testing.assert_array_equal(program(data[i : i + 1])[0], expected[i : i + 1])
