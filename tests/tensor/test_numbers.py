"""Python numbers, complex numbers and short dtypes where NumPy has a result or an error of its own."""

from __future__ import annotations

import operator
import tracemalloc
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor.errors import DtypeError

COMPARISONS = (
    (tt.lt, operator.lt),
    (tt.le, operator.le),
    (tt.gt, operator.gt),
    (tt.ge, operator.ge),
    (tt.eq, operator.eq),
    (tt.neq, operator.ne),
)


def computed(out: Any, value: Any) -> Any:
    """Return the value of a comparison of an input and a number, broadcast over the input's dimension."""
    node = out.owner
    inputs = [value if x.owner is None else np.reshape(x.owner.inputs[0].data, 1) for x in node.inputs]
    cells: list[list[Any]] = [[None]]
    node.op.perform(node, inputs, cells)
    return cells[0][0]


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**400, 300, -1])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "bool"])
def test_integers_compare_with_every_python_integer(dtype: str, number: int) -> None:
    x = tt.vector("x", dtype=dtype)
    for value in np.array([0, 1], dtype):
        for symbolic, exact in COMPARISONS:
            array = np.array([value])
            assert computed(symbolic(x, number), array) == exact(int(value), number)
            assert computed(symbolic(number, x), array) == exact(number, int(value))


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_reciprocal_of_integers_is_a_float(mode: str) -> None:
    dtypes = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    xs = [tt.vector("x", dtype=d) for d in dtypes]
    values = [np.array([1, 0, 4, 100], d) for d in dtypes]
    outs = [f(x) for x in xs for f in (tt.reciprocal, np.reciprocal, lambda x: tt.reciprocal(x) * x)]
    with np.errstate(all="ignore"):
        results = function(xs, outs, mode=mode)(*values)
        for n, value in enumerate(values):
            expected = 1 / value
            for result in results[3 * n : 3 * n + 2]:
                np.testing.assert_array_equal(result, expected, strict=True)
            assert results[3 * n + 2].dtype == expected.dtype
    assert tt.reciprocal(4).dtype == "float64"


def test_number_that_does_not_fit_arithmetic_is_still_refused() -> None:
    with pytest.raises(DtypeError, match="out of bounds for int8"):
        tt.vector("x", dtype="int8") + 2**63


@pytest.mark.parametrize("function", [tt.isposinf, tt.isneginf, tt.round_half_away_from_zero])
def test_function_of_the_order_of_real_numbers_refuses_complex_ones(function: Any) -> None:
    with pytest.raises(DtypeError, match="does not take operands of dtype complex128"):
        function(tt.zvector("z"))


@pytest.mark.parametrize("dtype", ["int8", "bool", "float16"])
@pytest.mark.parametrize("reduce", [tt.sum, tt.prod, tt.all, tt.any])
def test_reduction_of_short_numbers_holds_no_longer_copy_of_them(reduce: Any, dtype: str) -> None:
    x = tt.matrix("x", dtype=dtype)
    node = reduce(x).owner
    value = np.ones((1000, 1000), dtype)
    cells: list[list[Any]] = [[None]]
    tracemalloc.start()
    try:
        node.op.perform(node, [value], cells)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < value.nbytes // 2
