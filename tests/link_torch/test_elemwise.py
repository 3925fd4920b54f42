"""Every elementwise function on every dtype, at the values where dtypes differ, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_torch.programs import check, link

REAL = tuple(d for d in tt.DTYPES if not d.startswith("complex"))


def edge_values(dtype: str) -> Any:
    """Return values of a dtype where functions are delicate."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([True, False])
    if kind in "iu":
        info = np.iinfo(dtype)
        some = [0, 1, 2, 3, 5, 7, 8, 13, 31, 64, info.max, info.max - 1, info.max // 2 + 1, info.min]
        return np.array(some + ([-1, -2, -7, -13] if kind == "i" else []), dtype)
    if kind == "c":
        rng = np.random.default_rng(0)
        return (rng.normal(size=12) + 1j * rng.normal(size=12)).astype(dtype)
    inf = float("inf")
    return np.array(
        [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -7.3, 0.1, 0.3, 10.0, 1e-3, 100.0, inf, -inf, np.nan],
        dtype,
    )


def expression(name: str, x: Any, y: Any, dtype: str) -> Any | None:
    """Return a scalar op applied to x and y, or None where it does not take the dtype."""
    scalar_op = tt.SCALAR_OPS[name]
    op = tt.Elemwise(scalar_op)
    if name == "pow" and np.dtype(dtype).kind == "i":
        return op(x, tt.constant(np.array([[0, 1, 2, 3, 7, 8]], dtype)))
    if name.startswith("cast_") and np.dtype(dtype).kind == "f" and np.dtype(name[5:]).kind in "iu":
        return op(tt.switch(tt.abs(x) < (1 if name[5] == "u" else 100), x, tt.zeros_like(x)))
    operands = {1: (x,), 2: (x, y), 3: (tt.eq(x, y), x, y)}[scalar_op.nin]
    try:
        return op(*operands)
    except tt.DtypeError:
        return None


def expressions(dtype: str, names: list[str]) -> tuple[list[Any], list[Any], list[str]]:
    """Return inputs, outputs and names of the scalar ops that take a dtype."""
    x, y = tt.TensorType(dtype, (None, 1))("x"), tt.TensorType(dtype, (1, None))("y")
    by_name = {name: expression(name, x, y, dtype) for name in names}
    kept = [name for name in names if by_name[name] is not None]
    return [x, y], [by_name[name] for name in kept], kept


@pytest.mark.parametrize("dtype", REAL)
def test_every_scalar_op_agrees_with_numpy_on_every_dtype(dtype: str) -> None:
    # Special functions are checked by their records: SciPy and PyTorch differ at poles.
    names = [
        name
        for name in tt.SCALAR_OPS.names()
        if (tt.SCALAR_OPS[name].ufunc is not None or name.startswith("cast_") or name == "switch")
        and name not in {"cast_complex64", "cast_complex128", "complex"}
    ]
    inputs, outputs, kept = expressions(dtype, names)
    values = edge_values(dtype)
    assert len(kept) > 30
    check(inputs, outputs, [values[:, None], values[None, :]], names=kept)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_arithmetic_of_complex_numbers_agrees_with_numpy(dtype: str) -> None:
    names = [
        *("add", "sub", "mul", "true_div", "neg", "abs", "eq", "neq", "exp", "log", "sqrt", "sin", "tanh", "switch"),
        *("real", "imag", "conj", "angle"),
    ]
    inputs, outputs, kept = expressions(dtype, names)
    assert kept == names
    values = edge_values(dtype)
    check(inputs, outputs, [values[:, None], values[None, :]], names=kept)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint64", "float16", "float64"])
def test_delicate_scalar_ops_agree_with_numpy_when_compiled(dtype: str) -> None:
    names = {
        "f": [
            "floor_div",
            "mod",
            "maximum",
            "sign",
            "pow",
            "logaddexp",
            "round_half_to_even",
            "cast_float16",
            "cast_uint64",
        ],
        "i": ["floor_div", "mod", "maximum", "add", "mul", "pow", "left_shift", "right_shift", "lt", "cast_float32"],
    }
    inputs, outputs, kept = expressions(dtype, names["f" if np.dtype(dtype).kind == "f" else "i"])
    values = edge_values(dtype)
    check(inputs, outputs, [values[:, None], values[None, :]], compiled=True, names=kept)


def test_int64_and_uint64_are_compared_by_value() -> None:
    x, y = tt.TensorType("int64", (None, 1))("x"), tt.TensorType("uint64", (1, None))("y")
    functions = (tt.lt, tt.le, tt.gt, tt.ge, tt.eq, tt.neq)
    outputs = [f(x, y) for f in functions] + [f(y, x) for f in functions]
    check([x, y], outputs, [edge_values("int64")[:, None], edge_values("uint64")[None, :]])


def test_rounding_float64_to_float16_happens_once() -> None:
    x = tt.dvector("x")
    values = np.random.default_rng(0).normal(size=100_000) * 100
    (rounded,) = link([x], [tt.cast(x, "float16")])(values)
    np.testing.assert_array_equal(rounded, values.astype("float16"))


def test_a_negative_integer_exponent_is_an_error_that_names_the_line() -> None:
    x, y = tt.lvector("x"), tt.lvector("y")
    program = link([x, y], [tt.power(x, y)])
    with pytest.raises(ValueError, match=r"test_elemwise\.py"):
        program(np.array([2, 3]), np.array([1, -1]))


def test_a_fused_node_is_lowered_step_by_step() -> None:
    add, mul = tt.SCALAR_OPS["add"], tt.SCALAR_OPS["mul"]
    steps = (
        tt.Step(add, (0, 1), ("float64", "float64"), "float64"),
        tt.Step(mul, (2, 0), ("float64", "float64"), "float64"),
    )
    fused = tt.Elemwise(tt.Composite(2, ("float64", "float64"), steps, (2, 3)))
    x, y = tt.dvector("x"), tt.dvector("y")
    check([x, y], fused(x, y, return_list=True), [np.arange(3.0), np.array([2.0])])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_of_numbers_whose_ratio_overflows(dtype: str, compiled: bool) -> None:
    x, y = tt.TensorType(dtype, (None,))("x"), tt.TensorType(dtype, (None,))("y")
    info, rng = np.finfo(dtype), np.random.default_rng(0)
    least = float(info.smallest_subnormal if not compiled else info.smallest_normal)
    ends = np.array([info.max, -info.max, 1e30, 0.3, 1.0], dtype)
    large = np.concatenate([np.repeat(ends, 3), rng.normal(size=20).astype(dtype) * (info.max / 8)])
    small = np.concatenate([np.tile(np.array([least, -7 * least, 0.3], dtype), 5), rng.normal(size=20).astype(dtype)])
    small[15:] *= 2.0 ** (info.minexp // 2)
    run = link([x, y], [x % y, tt.fmod(x, y)], compiled)
    with np.errstate(over="ignore"):
        expected = large % small, np.fmod(large, small)
    for got, want in zip(run(large, small), expected, strict=True):
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64"])
def test_integers_are_divided_by_positive_ones_and_by_others(dtype: str) -> None:
    x, y = tt.TensorType(dtype, (None,))("x"), tt.TensorType(dtype, (None,))("y")
    info = np.iinfo(dtype)
    values = np.array([info.min, info.max, 0, 7, 100], dtype)
    divisors = [np.array([1, 2, 7, info.max, 3], dtype), np.array([0, 2, 7, info.max, 3], dtype), values[:0]]
    divisors += [np.full(5, -1, dtype), np.array([-7, 3, -1, 0, info.min], dtype)] if info.min else []
    run = link([x, y], [x // y, x % y])
    for by in divisors:
        of = values[: len(by)]
        with np.errstate(divide="ignore", over="ignore"):
            expected = of // by, of % by
        for got, want in zip(run(of, by), expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_the_sign_of_nan_is_nan_and_that_of_large_numbers_is_not() -> None:
    x = tt.dvector("x")
    run = link([x], [tt.sign(x)])
    for values in ([1.0, -2.0, 0.0, -0.0], [np.nan, -1.0], [np.inf, -np.inf, 2.0], [1e308, 1e308, -3.0]):
        np.testing.assert_array_equal(run(np.array(values))[0], np.sign(values))
