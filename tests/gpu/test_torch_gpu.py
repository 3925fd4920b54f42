"""The PyTorch backend on a GPU; collected everywhere, run where CUDA is available."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from tests.tensor.random.portable_samples import assert_same_draws, portable_samples
from treadle.compile import ProfileStats, function, get_mode, shared
from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.torch.linker import TorchLinker
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _on_the_gpu() -> Iterator[None]:
    with config.change_flags(torch__device="cuda"):
        yield


def _graph() -> tuple[list[Any], list[Any], list[Any]]:
    x, w, i, n = tt.fmatrix("x"), tt.fvector("w"), tt.lvector("i"), tt.lscalar("n")
    loss = tt.softplus(tt.dot(x, w)).mean()
    outputs = [loss, tt.grad(loss, w), x[i], tt.inc_subtensor(x[i], 1), tt.arange(n), tt.zeros((n,)) + x.sum(), x]
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(50, 4)).astype("f4"), rng.normal(size=4).astype("f4"), np.array([0, 3, 3]), np.array(5)]
    return [x, w, i, n], outputs, values


@pytest.mark.parametrize("compiled", [False, True])
def test_a_small_model_agrees_with_the_python_vm(compiled: bool) -> None:
    inputs, outputs, values = _graph()
    results = TorchLinker(compiled).link(FunctionGraph(inputs, outputs))(*values)
    expected = PythonLinker().link(FunctionGraph(inputs, outputs))(*values)
    for got, want in zip(results, expected, strict=True):
        assert isinstance(got, np.ndarray)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, 1e-4, 1e-4)


def test_native_values_stay_on_the_gpu() -> None:
    x = tt.fvector("x")
    program = TorchLinker(False).link(FunctionGraph([x], [x + 1]), frozenset({0}))
    (once,) = program(np.zeros(3, "float32"))
    (twice,) = program(once)
    assert twice.is_cuda
    assert program.fetch(twice, x.type).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_position_out_of_bounds_is_an_index_error_and_the_device_survives(compiled: bool) -> None:
    x, i = tt.fvector("x"), tt.lvector("i")
    program = TorchLinker(compiled).link(FunctionGraph([x, i], [x[i]]))
    with pytest.raises(IndexError, match="test_torch_gpu"):
        program(np.zeros(3, "float32"), np.array([5]))
    assert program(np.ones(3, "float32"), np.array([2]))[0].tolist() == [1.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_portable_draws_are_those_of_the_python_vm(compiled: bool) -> None:
    samples = portable_samples()
    graph = FunctionGraph(samples.inputs, samples.outputs)
    draws = TorchLinker(compiled).link(graph)(*samples.values)
    assert_same_draws(
        samples, [np.asarray(x) for x in draws], [np.asarray(x) for x in PythonLinker().link(graph)(*samples.values)]
    )


def test_tensors_on_the_gpu_are_used_and_returned_where_they_are() -> None:
    x = tt.fvector("x")
    value = torch.arange(3.0, device="cuda")
    before = torch.cuda.memory_allocated()
    (result,) = TorchLinker(False).link(FunctionGraph([x], [x * 2]), frozenset({0}))(value)
    assert result.device == value.device
    assert result.data_ptr() != value.data_ptr()
    # The result is all that was allocated: no copy of the argument.
    assert torch.cuda.memory_allocated() - before <= 512
    assert result.tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("steps", [0, 1, 70])
def test_loops_run_on_the_gpu(steps: int) -> None:
    x, start = tt.fmatrix("x"), tt.fvector("start")
    last, rows = tt.scan_with_carry(lambda c, row: (tt.tanh(c) * row + 0.5, c), start, x)
    outputs = [last, rows, *tt.grad(last.sum() + rows.sum(), [x, start])]
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(steps, 3)).astype("f4"), rng.normal(size=3).astype("f4")]
    results = TorchLinker(False).link(FunctionGraph([x, start], outputs), frozenset({0}))(*values)
    assert results[0].is_cuda
    expected = PythonLinker().link(FunctionGraph([x, start], outputs))(*values)
    for got, want in zip([results[0].cpu().numpy(), *results[1:]], expected, strict=True):
        np.testing.assert_allclose(got, want, 1e-4, 1e-4)


def test_torch_function_gives_gradients_on_the_gpu() -> None:
    x, w = tt.fvector("x"), tt.fvector("w")
    compiled: Any = function([x, w], tt.softplus(x * w).sum(), mode="PYTORCH")
    f = compiled.torch_function
    value = torch.arange(3.0, device="cuda", requires_grad=True)
    weight = torch.ones(3, device="cuda")
    f(value, weight).backward()
    assert value.grad is not None
    assert value.grad.is_cuda
    torch.testing.assert_close(value.grad, torch.sigmoid(value.detach()))


def test_shared_state_stays_on_the_gpu_between_calls() -> None:
    count = shared(np.zeros(3, "float32"), name="count")
    step = function([], [], updates={count: count + 1}, mode="PYTORCH")
    step()
    allocated = torch.cuda.memory_allocated()
    for _ in range(5):
        step()
    assert torch.cuda.memory_allocated() <= allocated + 512
    assert count.get_value().tolist() == [6.0, 6.0, 6.0]


def test_profiles_have_the_peak_of_the_gpus_memory() -> None:
    x = tt.fmatrix("x")
    stats = ProfileStats(atexit_print=False, flag_memory=True, flag_time_thunks=False)
    f = function([x], tt.tanh(x), mode="PYTORCH", profile=stats)
    value = torch.ones(1000, 1000, device="cuda")
    f(value)
    assert stats.device_memory_peak is not None
    assert stats.device_memory_peak >= 2 * value.nbytes
    assert stats.device_memory_peak == torch.accelerator.max_memory_allocated()


@pytest.mark.parametrize("chooses", [False, True])
def test_tensors_on_the_gpu_are_taken_by_name_as_parameters_and_beside_choices(chooses: bool) -> None:
    x, k = tt.fvector("x"), tt.lscalar("k")
    y = tt.ifelse(k > 0, x * 2, x) if chooses else x * tt.cast(k, "float32") * 2
    f = function([x, k], y, mode=get_mode("PYTORCH").clone(link_kwargs={"device_outputs": True}))
    value, one = torch.arange(3.0, device="cuda"), torch.tensor(1, device="cuda")
    for result in (f(value, one), f(k=one, x=value), f(torch.nn.Parameter(value), k=1)):
        assert result.is_cuda
        assert not result.requires_grad
        assert result.tolist() == [0.0, 2.0, 4.0]
