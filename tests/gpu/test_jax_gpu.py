"""JAX programs on a GPU give NumPy's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor.random.portable_samples import assert_same_draws, portable_samples
from treadle.graph import FunctionGraph
from treadle.link.jax import BACKEND
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.gpu

FLOATS = ("float32", "float64")


def assert_same(inputs: Sequence[Any], outputs: Sequence[Any], *values: Any) -> None:
    graph = FunctionGraph(list(inputs), list(outputs))
    expected = PythonLinker().link(graph)(*values)
    for got, wanted in zip(BACKEND.linker().link(graph)(*values), expected, strict=True):
        assert type(got) is np.ndarray
        assert tt.TensorType.values_eq_approx(got, wanted)


def test_native_outputs_live_on_the_gpu() -> None:
    x = tt.dvector("x")
    (out,) = BACKEND.linker().link(FunctionGraph([x], [x + 1]), frozenset({0}))(np.arange(3.0))
    assert {device.platform for device in out.devices()} == {"gpu"}


@pytest.mark.parametrize("dtype", FLOATS)
def test_matrix_products_are_not_rounded_to_tensor_float(dtype: str) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None))
    value = np.random.default_rng(0).normal(size=(200, 200)).astype(dtype)
    (product,) = BACKEND.linker().link(FunctionGraph([x], [tt.matmul(x, x)]))(value)
    exact = value.astype("float64") @ value.astype("float64")
    assert np.abs(product - exact).max() < {"float32": 1e-4, "float64": 1e-12}[dtype]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "uint64"])
def test_every_elementwise_function_agrees_with_numpy(dtype: str) -> None:
    inputs, outputs, values = [], [], []
    rng = np.random.default_rng(0)
    for name in tt.SCALAR_OPS.names():
        scalar_op = tt.SCALAR_OPS[name]
        operands = [tt.tensor(dtype=dtype, shape=(None,)) for _ in range(scalar_op.nin)]
        try:
            out = tt.Elemwise(scalar_op)(*operands)
        except tt.DtypeError:
            continue
        inputs += operands
        outputs.append(out)
        values += [
            (rng.random(20) * 0.9 if dtype in FLOATS else rng.integers(0, 6, 20)).astype(dtype) for _ in operands
        ]
    assert_same(inputs, outputs, *values)


@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions_normalizations_and_indexing_agree_with_numpy(dtype: str) -> None:
    x = tt.tensor(dtype=dtype, shape=(None, None))
    i = tt.lvector("i")
    value = np.random.default_rng(0).normal(size=(5, 7)).astype(dtype)
    outputs = [
        tt.sum(x, axis=0), tt.prod(x), tt.max(x, axis=1), tt.argmax(x, axis=1), tt.mean(x), tt.var(x, axis=0),
        tt.softmax(x, axis=1), tt.log_softmax(x, axis=0), tt.logsumexp(x, axis=(0, 1)),
        x[1:, ::-2], x[i], tt.inc_subtensor(x[i], 1), tt.set_subtensor(x[::2], 0), tt.concatenate([x, x.T[:5, :5]], 1),
        tt.grad(tt.softmax(tt.dot(x, x.T)).sum(), x),
    ]  # fmt: skip
    assert_same([x, i], outputs, value, np.array([0, 4, 0]))


def test_a_position_out_of_bounds_is_an_index_error() -> None:
    x, i = tt.dvector("x"), tt.lvector("i")
    program = BACKEND.linker().link(FunctionGraph([x, i], [x[i]]))
    with pytest.raises(IndexError, match="out of bounds"):
        program(np.arange(3.0), np.array([5]))


def test_portable_draws_are_those_of_the_python_vm() -> None:
    samples = portable_samples()
    graph = FunctionGraph(samples.inputs, samples.outputs)
    draws = BACKEND.linker().link(graph)(*samples.values)
    assert_same_draws(
        samples, [np.asarray(x) for x in draws], [np.asarray(x) for x in PythonLinker().link(graph)(*samples.values)]
    )
