"""The PyTorch backend on a GPU; collected everywhere, run where CUDA is available."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor.random.portable_samples import assert_same_draws, portable_samples
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
