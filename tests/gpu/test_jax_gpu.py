"""JAX programs on a GPU give NumPy's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor.random.portable_samples import assert_same_draws, portable_samples
from treadle.compile import function, get_mode, shared
from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.jax import BACKEND
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.gpu

FLOATS = ("float32", "float64")


@pytest.fixture(autouse=True)
def _on_the_gpu() -> Iterator[None]:
    # JAX without the plugin for the GPU would run everything on the CPU: naming the device makes that an error.
    with config.change_flags(jax__device="gpu"):
        yield


def _platforms(array: Any) -> set[str]:
    return {device.platform for device in array.devices()}


def assert_same(inputs: Sequence[Any], outputs: Sequence[Any], *values: Any) -> None:
    graph = FunctionGraph(list(inputs), list(outputs))
    expected = PythonLinker().link(graph)(*values)
    for got, wanted in zip(BACKEND.linker().link(graph)(*values), expected, strict=True):
        assert type(got) is np.ndarray
        assert tt.TensorType.values_eq_approx(got, wanted)


def test_native_outputs_live_on_the_gpu() -> None:
    x = tt.dvector("x")
    (out,) = BACKEND.linker().link(FunctionGraph([x], [x + 1]), frozenset({0}))(np.arange(3.0))
    assert _platforms(out) == {"gpu"}


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


def test_shared_state_stays_on_the_gpu_and_its_memory_is_taken_over() -> None:
    w = shared(np.zeros(10**6), name="w")
    step = function([], [], updates={w: tt.inc_subtensor(w[5], 1.0)}, mode="JAX")
    step()
    step()
    old = w.get_value(borrow=True, return_internal_type=True)
    assert _platforms(old) == {"gpu"}
    address = old.unsafe_buffer_pointer()
    del old
    step()
    new = w.get_value(borrow=True, return_internal_type=True)
    assert new.unsafe_buffer_pointer() == address
    assert float(new[5]) == 3.0


def test_arrays_on_the_gpu_are_used_by_position_and_by_name_without_a_copy_to_the_host() -> None:
    x = tt.fvector("x")
    f = function([x], x * 2, mode=get_mode("JAX").clone(link_kwargs={"device_outputs": True}))
    value = jax.device_put(np.arange(3.0, dtype="float32"), jax.devices("gpu")[0])
    f(value)
    with jax.transfer_guard_device_to_host("disallow"):
        results = [f(value), f(x=value)]
    for result in results:
        assert _platforms(result) == {"gpu"}
        assert result.tolist() == [0.0, 2.0, 4.0]


def test_jax_function_is_differentiated_on_the_gpu() -> None:
    x = tt.fvector("x")
    f: Any = function([x], tt.softplus(x).sum(), mode="JAX")
    value = jax.device_put(np.arange(1.0, 4.0, dtype="float32"), jax.devices("gpu")[0])
    slope = jax.jit(jax.grad(lambda v: f.jax_function(v)[0]))(value)
    assert _platforms(slope) == {"gpu"}
    np.testing.assert_allclose(slope, 1 / (1 + np.exp(-np.arange(1.0, 4.0))), 1e-5)


def test_calls_that_do_not_wait_give_the_same_and_leave_arguments_free() -> None:
    x = tt.fmatrix("x")
    f = function([x], x @ x, mode="JAX")
    value = np.eye(500, dtype="float32")
    future = f.async_call(value)
    value[...] = 7.0
    np.testing.assert_array_equal(future.result(), np.eye(500, dtype="float32"))
