"""Sums along rows, each in registers, are those of loops over tiles."""

from __future__ import annotations

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.link.c.assembly import Assembly
from treadle.link.c.runtime import Library
from treadle.link.c.text.unit import write_unit

LENGTHS = (1, 7, 8, 9, 16, 17, 31, 32, 33, 64, 100, 127, 513, 2048, 2049, 5000)


def strided(x: np.ndarray) -> np.ndarray:
    """Return the same numbers where every second element of a row lies."""
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", LENGTHS)
def test_rows_in_registers_have_the_sums_of_stored_ones(n: int, dtype: str) -> None:
    x, w = tt.tensor3("x", dtype=dtype), tt.matrix("w", dtype=dtype)
    c = tt.tensor("c", dtype=dtype, shape=(None, 1, 1))
    outputs = [x.sum(axis=2), x.max(axis=2), tt.einsum("bij,bj->bi", x, w), ((x - c) ** 2).sum(axis=(1, 2))]
    rng = np.random.default_rng(n)
    values = [rng.normal(size=s).astype(dtype) for s in ((3, 40, n), (3, n), (3, 1, 1))]
    f = function([x, w, c], outputs, mode="C")
    even = f(*values)
    wanted = [
        values[0].sum(2),
        values[0].max(2),
        np.einsum("bij,bj->bi", *values[:2]),
        ((values[0] - values[2]) ** 2).sum((1, 2)),
    ]
    for result, numpy_result in zip(even, wanted, strict=True):
        np.testing.assert_allclose(
            result, numpy_result, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-3 if dtype == "float32" else 1e-12
        )
    # Rows of at most 16 elements are added up side by side where they lie apart.
    if n > 16:
        np.testing.assert_array_equal(even[2], f(strided(values[0]), strided(values[1]), values[2])[2])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", LENGTHS)
def test_sums_of_everything_are_in_registers_from_tile_to_tile(n: int, dtype: str) -> None:
    x, y = tt.matrix("x", dtype=dtype), tt.matrix("y", dtype=dtype)
    c = tt.tensor("c", dtype=dtype, shape=(1, 1))
    f = function([x, y, c], [((x - y) * (x + c)).sum(), ((x - y) * (x + c)).sum(axis=1)], mode="C")
    rng = np.random.default_rng(n)
    for rows in (1, 2, 5):
        a, b, one = (rng.normal(size=s).astype(dtype) for s in ((rows, n), (rows, n), (1, 1)))
        for first, second in ((a, b), (a[:, ::-1], b), (a[:, :1], b), (strided(a), strided(b))):
            whole, of_rows = f(first, second, one)
            wanted = ((first.astype("float64") - second) * (first.astype("float64") + one)).sum(axis=1)
            rtol, atol = (1e-4, 1e-3) if dtype == "float32" else (1e-11, 1e-11)
            np.testing.assert_allclose(of_rows, wanted, rtol=rtol, atol=atol)
            np.testing.assert_allclose(whole, wanted.sum(), rtol=rtol, atol=atol)
        # In the order of loops over tiles, which elements that lie apart have.
        if n > 16:
            for result, apart in zip(f(a, b, one), f(strided(a), strided(b), one), strict=True):
                np.testing.assert_array_equal(result, apart)


def test_rows_keep_infinities_and_nan_to_themselves() -> None:
    x = tt.dmatrix("x")
    rows = np.ones((6, 40))
    rows[1, 3], rows[3, 39], rows[4, :2] = np.inf, np.nan, (np.inf, -np.inf)
    for result in function([x], [x.sum(axis=1), (2 * x).sum(axis=1) / 2], mode="C")(rows):
        np.testing.assert_array_equal(result, [40, np.inf, 40, np.nan, np.nan, 40])


def test_rows_of_no_elements_and_no_rows() -> None:
    x = tt.dmatrix("x")
    f = function([x], [x.sum(axis=1), (x**2).sum(axis=1)], mode="C")
    for shape in ((3, 0), (0, 20), (0, 0), (1, 20)):
        for result in f(np.zeros(shape)):
            np.testing.assert_array_equal(result, np.zeros(shape[0]))


def test_an_operand_of_one_column_is_broadcast_at_run_time() -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    f = function([x, y], (x * y).sum(axis=1), mode="C")
    a, b = np.arange(60.0).reshape(2, 30), np.array([[2.0], [3.0]])
    np.testing.assert_array_equal(f(a, b), (a * b).sum(axis=1))


def test_only_arithmetic_of_one_type_along_the_last_axis_has_a_function_for_rows() -> None:
    x, f, w = tt.dmatrix("x"), tt.fmatrix("f"), tt.dvector("w")
    cases = {
        (x * w).sum(axis=1): True,
        (x * w).sum(axis=0): False,
        (x * w).sum(): True,
        tt.exp(x * w).sum(axis=1): False,
        (x * f).sum(axis=1): False,
        abs(x * w).max(axis=1): False,
    }
    for output, has_rows in cases.items():
        graph = function([x, f, w], output, mode="C", on_unused_input="ignore").fgraph
        text = Assembly(write_unit(graph)).text(Library(()))
        assert ("k0_rows, " in text or "k0_rows)" in text) == has_rows, output


def test_functions_for_rows_are_found_by_other_shares_of_a_program() -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    terms = [tt.exp(x * k) / (1 + tt.tanh(y + k)) + tt.sin(x - k * y) for k in range(12)]
    rows = [((x - k) * y).sum(axis=1) for k in range(4)]
    f = function([x, y], [*terms, *rows], mode="C")
    assert "TR_SHARE" in f.program.source  # type: ignore[attr-defined]  # a program of C
    a, b = np.random.default_rng(0).normal(size=(2, 5, 30))
    for k, result in enumerate(f(a, b)[12:]):
        np.testing.assert_allclose(result, ((a - k) * b).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "int64"])
def test_rows_that_follow_each_other_are_computed_together_and_reduced_apart(dtype: str) -> None:
    x = tt.matrix("x", dtype=dtype)
    twice = abs(x) * 2
    outputs = [twice.max(axis=1), twice.min(axis=1), twice, (x * x).sum(axis=1), (x * x).sum(axis=0)]
    together = function([x], outputs, mode="C")
    apart = [function([x], out, mode="C") for out in outputs]
    for rows, n in ((1, 30), (300, 16), (300, 17), (50, 400), (5, 1023), (5, 1025), (9, 3000), (700, 127)):
        even = np.random.default_rng(n).integers(-3, 4, (rows, n)).astype(dtype)
        if even.dtype.kind == "f":
            even[rows // 2, n // 2] = np.nan
        wide = even.astype("float64" if even.dtype.kind == "f" else dtype)
        double = np.abs(wide) * np.array(2, dtype)
        wanted = [double.max(1), double.min(1), double, (wide * wide).sum(1), (wide * wide).sum(0)]
        for numbers in (even, strided(even), np.asfortranarray(even)):
            for result, alone, numpy_result in zip(together(numbers), apart, wanted, strict=True):
                np.testing.assert_array_equal(result, numpy_result.astype(result.dtype))
                np.testing.assert_array_equal(alone(numbers), result)
