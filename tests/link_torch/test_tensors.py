"""Tensors in and out: no copies of arguments, results that stay tensors, dtypes that a device has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from treadle.compile import function, get_mode, shared
from treadle.config import config
from treadle.graph import Apply, LoweringError, Op, Variable
from treadle.link.torch import dtypes
from treadle.link.torch.programs.program import loader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _uncompiled() -> Iterator[None]:
    with config.change_flags(torch__compile=False, on_python_step="ignore"):
        yield


class OnHost(Op):
    """An op that PyTorch has no rule for."""

    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        outputs[0][0] = inputs[0] * 2


def test_arguments_share_memory_with_what_a_program_reads() -> None:
    load = loader(tt.dvector("x"), CPU)
    array, tensor = np.arange(3.0), torch.arange(3.0, dtype=torch.float64)
    assert load(array).data_ptr() == array.ctypes.data
    assert load(tensor) is tensor
    assert load(array[::2]).data_ptr() == array.ctypes.data
    parameter = torch.nn.Parameter(tensor)
    assert load(parameter).data_ptr() == tensor.data_ptr()
    assert not load(parameter).requires_grad


@pytest.mark.parametrize("step", ["none", "choice", "host"])
def test_results_are_tensors_where_the_mode_or_the_option_says_so(step: str) -> None:
    x, total = tt.dvector("x"), shared(np.zeros(2), "total")
    y: Any = {"none": x * 2, "choice": tt.ifelse(x.sum() > 0, x * 2, x), "host": OnHost()(x)}[step]
    mode = get_mode("PYTORCH").clone(link_kwargs={"device_outputs": True})
    functions = [function([x], [y, x.sum()], updates={total: total + x}, mode=mode)]
    with config.change_flags(torch__device_outputs=True):
        functions.append(function([x], [y, x.sum()], updates={total: total + x}, mode="PYTORCH"))
    functions.append(function([x], [y, x.sum()], mode="PYTORCH"))
    value = torch.tensor([1.0, 2.0], dtype=torch.float64)
    for f, kind in zip(functions, (torch.Tensor, torch.Tensor, np.ndarray), strict=True):
        for part, expected in zip(f(value), ([2.0, 4.0], 3.0), strict=True):
            assert type(part) is kind
            np.testing.assert_array_equal(part, expected)
    np.testing.assert_array_equal(total.get_value(), [2.0, 4.0])


def test_a_result_that_is_a_tensor_belongs_to_the_caller() -> None:
    x, kept = tt.dvector("x"), shared(np.ones(2), "kept")
    mode = get_mode("PYTORCH").clone(link_kwargs={"device_outputs": True})
    f = function([x], [x, x[:1], kept, tt.constant(np.ones(2))], mode=mode)
    value = torch.ones(2, dtype=torch.float64)
    for _ in range(2):
        for part in f(value):
            assert float(part.sum()) == len(part)
            part.add_(1)
    assert value.tolist() == [1.0, 1.0]


def test_whether_results_are_tensors_is_true_or_false() -> None:
    with pytest.raises(TypeError, match="device_outputs must be True or False"):
        _ = get_mode("PYTORCH").clone(link_kwargs={"device_outputs": "yes"}).linker


def test_dtypes_that_a_device_has_not_are_refused_with_the_line_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dtypes, "_has", lambda dtype, place: dtype != "float64" and place.type == "meta")
    x = tt.fvector("x")
    with config.change_flags(torch__device="meta"):
        assert function([x], x * np.float32(2), mode="PYTORCH") is not None
        y = tt.dvector("y")
        with pytest.raises(LoweringError, match="float64, first of y"):
            function([y], y, mode="PYTORCH")
        with pytest.raises(LoweringError, match=r"meta has no .* float64, first of .*test_tensors.*floatX"):
            function([x], tt.cast(x, "float64") * 2, mode="PYTORCH")
