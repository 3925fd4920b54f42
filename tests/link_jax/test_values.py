"""JAX programs compute the values that NumPy computes."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from scipy import special

import treadle.tensor as tt
from tests.link_jax.programs import assert_like_vm, link
from treadle.compile import function, shared
from treadle.tensor.families import ROOMS

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.25, 100.0, np.inf, -np.inf, np.nan]
# Special functions have records of their own: their accuracy differs at the ends of the range.
FAMILIES = [family for family, room in ROOMS.items() if room == "elementwise"]
X = np.arange(12.0).reshape(3, 4)


def samples(dtype: str, name: str) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "f":
        # Casting a float to an integer dtype that does not hold it is undefined.
        values = FLOATS[:-3] if name.startswith("cast_") else FLOATS
        return np.abs(values).astype(dtype) if name.startswith("cast_u") else np.array(values, dtype)
    if kind == "b":
        return np.array([True, False])
    info = np.iinfo(dtype)
    low = 0 if kind == "u" or name == "pow" else info.min
    return np.array([0, 1, 2, 3, 7, 64, info.max, low, low + 1], dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64"])
def test_every_elementwise_function_agrees_with_numpy(dtype: str) -> None:
    inputs, outputs, values = [], [], []
    modules = [import_module(f"treadle.tensor.{ROOMS[family]}.{family}") for family in FAMILIES]
    names = {op.name for module in modules for op in vars(module).values() if isinstance(op, tt.Elemwise)}
    for name in sorted(names | {op.name for op in tt.CASTS.values()}):
        scalar_op = tt.SCALAR_OPS[name]
        operands = [tt.tensor(dtype=dtype, shape=(None,) * scalar_op.nin) for _ in range(scalar_op.nin)]
        try:
            out = tt.Elemwise(scalar_op)(*operands)
        except tt.DtypeError:
            continue
        sample = samples(dtype, name)
        inputs += operands
        outputs.append(out)
        # Every value is paired with every other: each operand runs along a dimension of its own.
        values += [
            sample.reshape([-1 if d == at else 1 for d in range(scalar_op.nin)]) for at in range(scalar_op.nin)
        ]  # fmt: skip
    assert len(outputs) > 30
    assert_like_vm(inputs, outputs, *values)


def test_signed_and_unsigned_numbers_are_compared_exactly() -> None:
    x, y = tt.lvector("x"), tt.tensor(dtype="uint64", shape=(None,))
    compared = [f(a, b) for f in (tt.eq, tt.neq, tt.lt, tt.le, tt.gt, tt.ge) for a, b in ((x, y), (y, x))]
    big = 2**63
    assert_like_vm([x, y], compared, np.array([-1, 0, 5, big - 1]), np.array([2 * big - 1, 0, 5, big], "uint64"))


def test_a_bool_times_infinity_is_not_a_number() -> None:
    x, mask = tt.dvector("x"), tt.tensor(dtype="bool", shape=(None,))
    values = np.array([np.inf, np.nan, 2, -np.inf])
    assert_like_vm([x, mask], [x * mask, x * (x > 5), mask.astype("complex128") * x], values, np.array([False] * 4))


def test_a_negative_power_of_an_integer_is_an_error() -> None:
    x, y = tt.lvector("x"), tt.lvector("y")
    with pytest.raises(ValueError, match="negative integer powers"):
        link([x, y], [x**y])(np.array([2, 3]), np.array([1, -1]))


def test_a_cast_to_a_shorter_float_rounds() -> None:
    x = tt.dvector("x")
    assert_like_vm([x], [x.astype("float32").astype("float64"), x.astype("float16") * 2], np.array([1 / 3, 1e300]))


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "all", "any", "argmax", "argmin", "mean"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64"])
def test_reductions_agree_with_numpy(kind: str, dtype: str) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None))
    function = getattr(tt, kind)
    value = np.array([[1, 0, 3, 3], [1, 1, 2, 1], [5, 1, 0, 9]]).astype(dtype)
    if dtype == "float64":
        value[0, 2] = np.nan
    assert_like_vm([x], [function(x), function(x, axis=0), function(x, axis=1, keepdims=True)], value)


@pytest.mark.parametrize("function", [tt.max, tt.min, tt.argmax, tt.argmin])
def test_an_extremum_of_nothing_is_an_error(function: Any) -> None:
    x = tt.dmatrix("x")
    program = link([x], [function(x, axis=1)])
    assert program(np.zeros((0, 3)))[0].shape == (0,)
    with pytest.raises(ValueError, match=r"empty|zero-size"):
        program(np.zeros((3, 0)))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64"])
def test_matrix_products_agree_with_numpy(dtype: str) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None))
    value = np.array([[1, 2, 0], [3, 100, 5], [0, 7, 8]]).astype(dtype)
    assert_like_vm([x], [tt.matmul(x, x), tt.dot(x, x[0])], value)


@pytest.mark.parametrize("function", [tt.softmax, tt.log_softmax, tt.logsumexp])
def test_normalizations_take_infinities_as_numpy_does(function: Any) -> None:
    x = tt.dmatrix("x")
    value = np.array([[1, 2, 1e3], [-np.inf, -np.inf, -np.inf], [np.inf, 1, -np.inf], [np.nan, 1, 2]])
    assert_like_vm([x], [function(x, axis=1), function(x, axis=0)], value)


def test_shape_changes_agree_with_numpy() -> None:
    x = tt.dmatrix("x")
    row = tt.zeros((1, 4))
    outputs = [
        x.T, x.dimshuffle(1, "x", 0), x.flatten(), x.reshape((2, -1)), x.shape, tt.concatenate([x, x], 1),
        tt.sum_to(x, row), tt.alloc(x, 2, 3, 4), tt.arange(x.shape[0]), tt.arange(0.5, 3, 0.25),
    ]  # fmt: skip
    assert_like_vm([x], outputs, X)
    assert_like_vm([x], outputs, np.arange(24.0).reshape(6, 4)[::-2])


def test_an_unknown_dimension_broadcasts_at_run_time() -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    assert_like_vm([x, y], [x + y, tt.grad((x * y).sum(), y)], X, X[:1])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_indexing_agrees_with_numpy(dtype: str) -> None:
    x, y = tt.dmatrix("x"), tt.dvector("y")
    i, v = tt.tensor(dtype=dtype, shape=()), tt.tensor(dtype=dtype, shape=(None,))
    outputs = [
        x[i], x[1:, i], x[::-2, ::3], x[2:0:-1], x[5:], x[v], x[:, v], x[v, v], x[v, 1:],
        tt.set_subtensor(x[i], y), tt.inc_subtensor(x[i, ::-3], y[:2]), tt.inc_subtensor(x[::-2, ::2], 1.0),
        tt.inc_subtensor(x[v], y), tt.set_subtensor(x[:, v[:1]], 7.0), tt.inc_subtensor(x[3:], 1.0),
    ]  # fmt: skip
    assert_like_vm([x, y, i, v], outputs, X, np.arange(4.0), np.array(2, dtype), np.array([0, 1, 1, 2], dtype))


def test_a_gradient_through_most_families_agrees_with_numpy() -> None:
    x, w = tt.dmatrix("x"), tt.dvector("w")
    loss = tt.logsumexp(tt.concatenate([x[1:] * x[:-1], tt.exp(-x)])[::2]) + tt.softplus(tt.dot(x, w)).mean() + x.max()
    assert_like_vm([x, w], [loss, tt.grad(loss, x), tt.grad(loss, w)], X / 10, np.arange(4.0))


@pytest.mark.parametrize(("narrow", "wide"), [("bfloat16", "float32"), ("float8_e5m2", "float32"), ("int4", "int8")])
def test_arrays_of_dtypes_that_only_jax_has_are_widened(narrow: str, wide: str) -> None:
    values: Any = jax.numpy.array([1, -2], dtype=narrow)
    assert tt.as_tensor(values).dtype == tt.as_tensor(np.asarray(values)).dtype == shared(values).dtype == wide
    for kind in ("float64", "float32", "complex64"):
        x = tt.tensor("x", dtype=kind, shape=(None,))
        f: Any = function([x], x * 2, mode="JAX")
        for found in (f(values), f(np.asarray(values)), f.jax_function(values)[0]):
            assert found.dtype == kind
            np.testing.assert_array_equal(found, [2, -4])


def test_numbers_of_bfloat16_that_a_narrower_dtype_lacks_are_refused() -> None:
    x = tt.tensor("x", dtype="float16", shape=(None,))
    values = jax.numpy.array([1e-30], dtype="bfloat16")
    for given in (values, np.asarray(values)):
        with pytest.raises(TypeError, match=r"bfloat16.*would lose precision.* astype\('float16'\)"):
            function([x], x, mode="JAX")(given)
        assert function([x], x, mode="JAX", allow_input_downcast=True)(given).tolist() == [0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int8", "uint16", "bool"])
def test_parts_written_and_added_have_all_bits_of_the_vm(dtype: str) -> None:
    x, y = tt.matrix("x", dtype=dtype), tt.matrix("y", dtype=dtype)
    zeros = np.zeros((20, 5), dtype)
    values = (zeros if dtype in {"bool", "uint16"} else -zeros), np.ones((20, 5), dtype)
    outs = [
        tt.inc_subtensor(x[1:], y[1:]),
        tt.inc_subtensor(x[::-1, 1], y[:, 0]),
        tt.inc_subtensor(x[3::9], y[:2]),
        tt.set_subtensor(x[3::9, ::-1], y[:2]),
        tt.set_subtensor(x[-2::-9, 2], y[:3, 0]),
        tt.set_subtensor(tt.full((20, 5), tt.constant(np.ones((), dtype)))[1::2, ::-1], x[:10]),
        tt.set_subtensor(tt.zeros_like(x)[2], x[2]),
        tt.inc_subtensor(tt.zeros_like(x)[2:], y[2:]),
    ]
    program, reference = link([x, y], outs), function([x, y], outs, mode="VM")
    for got, wanted in zip(program(*values), reference(*values), strict=True):
        assert got.tobytes() == wanted.tobytes()


def test_beta_is_scipys_at_poles_beside_nan_and_for_large_numbers_below_0() -> None:
    numbers = [0.0, -0.0, 1, 2, 3, -1, -2, -3, -7, 0.5, -0.5, -2.5, -150.5, -84.3, 85.5, 171.2, 200.3, 1e-5, -1e-5]
    first, second = np.array(list(product([*numbers, np.inf, -np.inf, np.nan], repeat=2))).T
    a, b = tt.dvectors("a", "b")
    result = function([a, b], tt.beta(a, b), mode="JAX")(first, second)
    np.testing.assert_allclose(result, special.beta(first, second), rtol=1e-11)
