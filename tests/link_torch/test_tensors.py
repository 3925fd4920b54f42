"""Tensors in and out: no copies of arguments, results that stay tensors, dtypes that a device has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from tests.link_torch.programs import OnHost, check, link, sample, tensor
from treadle.compile import CallError, function, get_mode, shared
from treadle.config import OptionValueError, config
from treadle.graph import GraphValueError, LoweringError
from treadle.link.torch import dtypes
from treadle.link.torch.programs.program import loader

if TYPE_CHECKING:
    from collections.abc import Iterator

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _uncompiled() -> Iterator[None]:
    with config.change_flags(torch__compile=False, on_python_step="ignore"):
        yield


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


def test_tensors_of_another_device_go_in_and_come_out_without_the_host() -> None:
    # Tensors of this device have no data: a copy to the host would raise.
    x, w = tt.fmatrix("x"), tt.fvector("w")
    on_device = get_mode("PYTORCH").clone(link_kwargs={"device_outputs": True})
    outputs = [tt.softmax(tt.dot(x, w) + np.float32(1)), tt.grad(tt.softplus(tt.dot(x, w)).sum(), w), x.sum(axis=0)]
    with config.change_flags(torch__device="meta", torch__compile=False):
        f = function([x, w], outputs, mode=on_device)
        values = torch.empty(4, 3, device="meta"), torch.empty(3, device="meta")
        assert [(y.device.type, tuple(y.shape)) for y in f(*values)] == [("meta", (n,)) for n in (4, 3, 3)]


def test_a_mode_may_name_the_device_of_its_functions() -> None:
    x = tt.fvector("x")
    w = shared(np.ones(3, "float32"), name="w")
    mode = get_mode("PYTORCH").clone(link_kwargs={"device": "meta", "device_outputs": True})
    with config.change_flags(torch__compile=False):
        f = function([x], [x * w, tt.softmax(x)], updates={w: w + x}, mode=mode)
        here = function([x], x * 2, mode=get_mode("PYTORCH").clone(link_kwargs={"device_outputs": True}))
        tripled: Any = function([x], x * 3, mode=mode)
    value = torch.empty(3, device="meta")
    assert [y.device.type for y in f(value)] == ["meta", "meta"]
    assert w.get_value(borrow=True, return_internal_type=True).device.type == "meta"
    assert tripled.torch_function(value).device.type == "meta"
    assert here(np.ones(3, "float32")).tolist() == [2.0, 2.0, 2.0]


def test_a_device_that_is_not_there_is_refused_by_what_names_it() -> None:
    x = tt.fvector("x")
    elsewhere = get_mode("PYTORCH").clone(link_kwargs={"device": "cuda:99"})
    text = r"'cuda:99' cannot be used \(.*\)\. Give the name of a device that PyTorch finds here: cpu"
    with pytest.raises(GraphValueError, match=f"TorchLinker: the device of the mode's link_kwargs, {text}"):
        function([x], x * 2, mode=elsewhere)
    with config.change_flags(torch__device="cuda:99"), pytest.raises(OptionValueError, match=f"torch__device: {text}"):
        function([x], x * 2, mode="PYTORCH")


def test_results_in_new_memory_are_told_from_those_that_may_share_it() -> None:
    x = tt.dmatrix("x")
    value = np.arange(6.0).reshape(2, 3)
    for y in (x + 1, tt.real(x), +x, x.T, tt.softmax(x, axis=1), x.sum(axis=0), x.copy(), tt.cast(x, "float64")):
        (result,) = link([x], [y])(value)
        assert not np.shares_memory(result, value), y.owner
        result[...] = -1
    assert value.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    first, second = link([x], [y := x + 1, y])(value)
    assert not np.shares_memory(first, second)


def test_arguments_that_record_gradients_give_results_that_do_not() -> None:
    x = tt.dvector("x")
    (result,) = link([x], [x * 2], native=[0])(torch.ones(3, dtype=torch.float64, requires_grad=True))
    assert not result.requires_grad


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), (0, 1, 2)])
def test_softmax_and_its_like_agree_with_the_vm(dtype: str, axes: tuple[int, ...]) -> None:
    x = tensor(dtype, 3)
    value = (sample(dtype, (3, 4, 5)) * 20).astype(dtype)
    value[0] = -700 if dtype == "float64" else -50
    check([x], [op(axes)(x) for op in (tt.Softmax, tt.LogSoftmax, tt.LogSumExp)], [value])


def test_log_softmax_of_numbers_whose_squares_overflow() -> None:
    x = tt.dmatrix("x")
    f = function([x], tt.log_softmax(x, axis=1), mode="PYTORCH")
    np.testing.assert_array_equal(f(np.array([[-1e200, 0.0], [-np.inf, 1.0]])), [[-1e200, 0.0], [-np.inf, 0.0]])
    assert np.isnan(f(np.array([[np.nan, 0.0]]))).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("place", [0, 2])
def test_softmax_beside_infinite_elements_and_nan_is_that_of_the_vm(
    dtype: str, axes: tuple[int, ...], place: int
) -> None:
    x = tensor(dtype, 2)
    for special in (np.inf, -np.inf, np.nan):
        value = sample(dtype, (3, 4))
        value[place, place] = special
        check([x], [op(axes)(x) for op in (tt.Softmax, tt.LogSoftmax)], [value])
    check([x], [op(axes)(x) for op in (tt.Softmax, tt.LogSoftmax)], [np.full((3, 4), -np.inf, dtype)])


def test_softmax_beside_infinite_elements_is_that_of_the_vm_when_compiled() -> None:
    x = tt.dmatrix("x")
    value = sample("float64", (3, 4))
    value[1] = -np.inf
    value[2, 1:3] = np.inf, np.nan
    check([x], [tt.softmax(x, axis=1), tt.log_softmax(x, axis=0), tt.softmax(x)], [value], compiled=True)


def test_softmax_of_no_elements_has_none_and_logsumexp_is_minus_infinity() -> None:
    x = tt.dmatrix("x")
    outputs = [tt.softmax(x, axis=1), tt.log_softmax(x, axis=1), tt.logsumexp(x, axis=1), tt.logsumexp(x, axis=0)]
    check([x], outputs, [np.zeros((2, 0))])


def test_tensors_that_are_only_marked_as_conjugates_or_negatives_are_taken() -> None:
    z, x = tt.zvector("z"), tt.dvector("x")
    value = torch.tensor([1 + 2j, 3 - 1j])
    f = function([z], [z + z, z, z.sum()], mode="PYTORCH")
    for result, expected in zip(
        f(value.conj().to(torch.complex128)), ([2 - 4j, 6 + 2j], [1 - 2j, 3 + 1j], 4 - 1j), strict=True
    ):
        np.testing.assert_array_equal(result, expected)
    negative = value.to(torch.complex128).conj().imag
    assert negative.is_neg()
    for result, expected in zip(function([x], [x, x * 2], mode="PYTORCH")(negative), ([-2, 1], [-4, 2]), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (torch.empty((2, 2), dtype=torch.float64, device="meta"), "on the device meta, and has no values"),
        (torch.eye(2, dtype=torch.float64).to_sparse(), r"has the layout torch\.sparse_coo\. Pass tensor\.to_dense"),
    ],
)
def test_tensors_without_an_array_of_values_are_refused(value: torch.Tensor, reason: str) -> None:
    x, w = tt.dmatrix("x"), shared(np.zeros((2, 2)))
    for updates in (None, {w: w + x}):
        f = function([x], x * 2, updates=updates, mode="PYTORCH")
        for _ in range(3):
            with pytest.raises((tt.TensorTypeError, CallError), match=reason):
                f(value)
            f(torch.zeros((2, 2), dtype=torch.float64))


def test_results_have_the_dtypes_of_the_graph_where_pytorch_casts_by_itself() -> None:
    x, w = tt.fmatrix("x"), shared(np.full((20, 20), 1.001, "float32"), name="w")
    values = np.full((20, 20), 1.001, "float32")
    on_device = get_mode("PYTORCH").clone(link_kwargs={"device_outputs": True})
    product, from_state = function([x], x @ x.T, mode=on_device), function([], w @ w, mode=on_device)
    step = function([x], w[0, 0], updates={w: w @ x / np.float32(20)}, mode="PYTORCH")
    traced: Any = function([x], (x @ x.T).sum(), mode="PYTORCH")
    expected, total = product(values), traced.torch_function(torch.tensor(values))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for argument in (values, torch.tensor(values), torch.tensor(values, requires_grad=True)):
            assert torch.equal(product(argument), expected)
        assert torch.equal(from_state(), expected)
        assert torch.equal(traced.torch_function(torch.tensor(values)), total)
        for _ in range(3):
            step(values)
        assert torch.is_autocast_enabled("cpu")
    assert w.get_value().dtype == np.float32
    np.testing.assert_allclose(w.get_value(), 1.001**4, rtol=1e-5)
