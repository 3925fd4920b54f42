"""Calls that are written for their arguments: what does not fit goes the long way, with the same results and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from tests.link_torch.programs import OnHost
from treadle.compile import CallError, In, Out, function, get_mode, shared
from treadle.config import config
from treadle.link.torch.programs import calls, program

if TYPE_CHECKING:
    from collections.abc import Iterator

DOUBLE = torch.float64


@pytest.fixture(autouse=True)
def _uncompiled() -> Iterator[None]:
    with config.change_flags(torch__compile=False):
        yield


def test_tensors_and_arrays_come_in_any_mixture_and_dtype() -> None:
    x, y = tt.dvector("x"), tt.dscalar("y")
    f = function([x, y], [Out(2 * x + y, borrow=True), x - y], mode="PYTORCH")
    values = [
        torch.ones(2, dtype=DOUBLE),
        np.ones(2),
        [1, 1],
        torch.ones(2),
        np.ones(2, ">f8"),
        np.ones(4)[::-2],
    ]
    for value in values:
        for one in (np.array(1.0), torch.tensor(1.0, dtype=DOUBLE), 1):
            total, difference = f(value, one)
            assert isinstance(total, torch.Tensor)
            assert (total.tolist(), difference.tolist()) == ([3, 3], [0, 0])
            assert f(y=one, x=value)[0].tolist() == [3, 3]


def test_results_of_tensors_that_require_gradients_do_not() -> None:
    x = tt.dvector("x")
    f = function([x], Out(x + 1, borrow=True), mode="PYTORCH")
    for needed in (False, True, False):
        result = f(torch.ones(2, dtype=DOUBLE, requires_grad=needed))
        assert (result.tolist(), result.requires_grad) == ([2, 2], False)


@pytest.mark.parametrize("on_host", [False, True])
def test_tensors_that_require_gradients_are_taken_as_values_however_they_are_given(on_host: bool) -> None:
    x, y, z = tt.dvector("x"), tt.tensor("y", dtype="float64", shape=(2,)), tt.dvector("z")
    total = x + y + z
    with config.change_flags(on_python_step="ignore"):
        doubled = OnHost()(total) if on_host else total * 2
        f = function([x, y, In(z, value=np.zeros(2))], doubled, mode="PYTORCH")
    for value in (
        torch.ones(2, dtype=DOUBLE, requires_grad=True),
        torch.nn.Parameter(torch.ones(2, dtype=DOUBLE)),
        torch.ones(2, dtype=DOUBLE, requires_grad=True) * 1,
        torch.ones(2, requires_grad=True),
    ):
        for result in (f(value, value), f(x=value, y=value), f(value, y=value, z=value - 1), f([1, 1], y=value)):
            np.testing.assert_array_equal(result, [4.0, 4.0])
    with pytest.raises(CallError, match=r"argument 1, y: .* shape \(3,\)"):
        f(np.ones(2), torch.ones(3, dtype=DOUBLE, requires_grad=True))


def test_tensors_are_used_where_they_are_when_they_are_given_by_name() -> None:
    x, y = tt.fvector("x"), tt.tensor("y", dtype="float32", shape=(3,))
    # Tensors of this device have no data: a copy to the host would raise.
    mode = get_mode("PYTORCH").clone(link_kwargs={"device": "meta", "device_outputs": True})
    f = function([x, y], x * y, mode=mode)
    value = torch.empty(3, device="meta")
    parameter = torch.nn.Parameter(value)
    for result in (f(value, value), f(x=value, y=value), f(parameter, y=parameter)):
        assert (result.device.type, result.requires_grad) == ("meta", False)


def test_wrong_arguments_are_refused_with_the_functions_error() -> None:
    x, y = tt.dvector("x"), tt.tensor("y", dtype="float64", shape=(2,))
    f = function([x, y], x.sum() + y, mode="PYTORCH")
    good = torch.ones(2, dtype=DOUBLE), np.ones(2)
    for args, kw, message in (
        ((good[0],), {}, "y"),
        ((), {}, "x"),
        ((*good, good[0]), {}, "3"),
        (good, {"z": 1.0}, "z"),
        ((torch.ones(2, 2, dtype=DOUBLE), good[1]), {}, "x"),
        ((good[0], np.ones(3)), {}, "y"),
        ((good[0], torch.ones(3, dtype=DOUBLE)), {}, "y"),
        ((torch.ones(2, dtype=torch.complex128), good[1]), {}, "x"),
    ):
        with pytest.raises(CallError, match=message):
            f(*args, **kw)
    assert f(*good).tolist() == [3, 3]


def test_an_operation_that_fails_names_the_users_line() -> None:
    x, w, i = tt.dvector("x"), shared(np.zeros(3)), tt.lvector("i")
    f = function([x, i], x[i], mode="PYTORCH")
    g = function([x, i], x[i], updates={w: w + 1}, mode="PYTORCH")
    value, at = torch.arange(3.0, dtype=DOUBLE), torch.tensor([2, 0])
    assert f(value, at).tolist() == g(value, at).tolist() == [2, 0]
    for each in (f, g):
        with pytest.raises(IndexError, match=r"test_calls\.py"):
            each(value, torch.tensor([5]))
    assert w.get_value().tolist() == [1, 1, 1]


def test_the_long_way_is_not_gone_where_arguments_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    f = function([x, y], x * y + 1, mode="PYTORCH")
    long_way: Any = program.TorchProgram.__call__
    calls: list[int] = []

    def counted(self: Any, *inputs: Any) -> Any:
        calls.append(len(inputs))
        return long_way(self, *inputs)

    monkeypatch.setattr(program.TorchProgram, "__call__", counted)
    ones = torch.ones(3, dtype=DOUBLE)
    assert f(ones, ones).tolist() == f(ones.numpy(), ones.numpy()).tolist() == [2, 2, 2]
    assert calls == []
    assert f(ones, ones.numpy()).tolist() == [2, 2, 2]
    assert calls == [2]


def test_functions_without_arguments_are_called_and_refuse_some() -> None:
    f = function([], tt.arange(3) * tt.constant([1.0, 2.0, 3.0]), mode="PYTORCH")
    np.testing.assert_array_equal(f(), [0.0, 2.0, 6.0])
    with pytest.raises(CallError):
        f(1.0)


def test_pytorchs_own_test_of_arguments_says_yes_to_what_fits_alone() -> None:
    kinds = [
        tt.dvector().type,
        tt.TensorType("float32", (None, 3)),
        tt.TensorType("int64", ()),
        tt.TensorType("bool", (0,)),
    ]
    fits = calls.fits_all(kinds)
    assert fits is not None
    good = [torch.ones(4, dtype=DOUBLE), torch.ones(2, 3), torch.tensor(1), torch.ones(0, dtype=torch.bool)]
    assert fits(*good)
    assert fits(torch.ones(8, dtype=DOUBLE)[::2], torch.ones(3, 0).T.expand(0, 3), *good[2:])
    for at, bad in (
        (0, torch.ones(4)),
        (0, torch.ones(4, 1, dtype=DOUBLE)),
        (0, np.ones(4)),
        (0, torch.ones(4, dtype=DOUBLE, requires_grad=True)),
        (0, torch.nn.Parameter(torch.ones(4, dtype=DOUBLE), requires_grad=False)),
        (0, torch.empty(4, dtype=DOUBLE, device="meta")),
        (1, torch.ones(2, 4)),
        (1, torch.eye(3).to_sparse()),
        (3, torch.ones(1, dtype=torch.bool)),
    ):
        assert not fits(*good[:at], bad, *good[at + 1 :])
