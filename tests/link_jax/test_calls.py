"""Calls of compiled code at once: what does not fit goes the long way, with the same results and errors."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import CallError, Out, function, shared
from treadle.link.jax.programs.calls import swap_x64


def warmed() -> Any:
    """Return the function `2 x + y`, which has been called often enough to be called the quick way."""
    x, y = tt.dvector("x"), tt.dscalar("y")
    f = function([x, y], 2 * x + y, mode="JAX")
    for _ in range(3):
        assert f(np.ones(2), np.array(1.0)).tolist() == [3, 3]
    return f


def test_arguments_may_be_of_any_class_after_calls_with_arrays() -> None:
    f, one = warmed(), np.array(1.0)
    with jax.enable_x64(True):
        on_device = jax.device_put(np.ones(2))
    for value in (on_device, [1, 1], np.ones(2, "float32"), np.ones((1, 2)).squeeze(0), np.array([1, 1], "int8")):
        for _ in range(2):
            assert f(value, one).tolist() == [3, 3]
            assert f(y=1.0, x=value).tolist() == [3, 3]
    with pytest.raises(CallError, match="masked"):
        f(np.ma.array([1.0, 2.0], mask=[False, True]), one)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int64", "uint64", "complex128"])
def test_arrays_of_the_other_byte_order_are_converted(dtype: str) -> None:
    x = tt.tensor("x", dtype=dtype, shape=(None,))
    f = function([x], x + x, mode="JAX")
    values = np.arange(3, dtype=dtype)
    swapped = values.astype(values.dtype.newbyteorder())
    for _ in range(3):
        np.testing.assert_array_equal(f(values), 2 * values)
        np.testing.assert_array_equal(f(swapped), 2 * values)


def test_wrong_numbers_of_arguments_are_refused_as_before() -> None:
    f, one = warmed(), np.array(1.0)
    for args, kw, message in (
        ((np.ones(2),), {}, "y"),
        ((), {}, "x"),
        ((np.ones(2), one, one), {}, "3"),
        ((np.ones(2), one), {"z": one}, "z"),
        ((np.ones((2, 2)), one), {}, "x"),
    ):
        with pytest.raises(CallError, match=message):
            f(*args, **kw)
    assert f(np.ones(2), one).tolist() == [3, 3]


def test_results_belong_to_the_caller_however_large_they_are() -> None:
    x = tt.dvector("x")
    f = function([x], [x + 1, x.sum()], mode="JAX")
    for n in (3, 3, 10**5, 10**5, 3):
        first, _ = f(np.ones(n))
        second, total = f(np.ones(n))
        first[:] = 0
        assert (first.max(), second.min(), float(total)) == (0, 2, n)


def test_arrays_on_the_device_come_in_any_mixture() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    f = function([x, y], [Out(x + y, borrow=True), x - y], mode="JAX")
    with jax.enable_x64(True):
        on_device = jax.device_put(np.ones(2))
    for a in (on_device, np.ones(2)) * 2:
        for b in (np.ones(2), on_device) * 2:
            total, difference = f(a, b)
            assert isinstance(total, jax.Array)
            assert (np.asarray(total).tolist(), difference.tolist()) == ([2, 2], [0, 0])


def test_a_large_value_is_updated_in_place_by_arguments_of_any_class() -> None:
    x, w = tt.dvector("x"), shared(np.zeros(10**5))
    f = function([x], w[0], updates={w: w + x.sum()}, mode="JAX")
    with jax.enable_x64(True):
        on_device = jax.device_put(np.ones(2))
    places = set()
    for k, value in enumerate((np.ones(2), on_device, np.ones(2), np.ones(3)[1:], on_device, np.ones(2))):
        assert float(f(value)) == 2 * k
        places.add(w.get_value(return_internal_type=True).unsafe_buffer_pointer())
    assert len(places) <= 2


def test_a_borrowed_value_is_not_written_over() -> None:
    values = np.zeros(10**5)
    w = shared(values, borrow=True)
    f = function([], [], updates={w: w + 1}, mode="JAX")
    for _ in range(3):
        f()
        w.set_value(values, borrow=True)
    f()
    assert (values.max(), w.get_value()[0]) == (0, 1)


def test_flags_of_x64_are_as_they_were_after_calls() -> None:
    f = warmed()
    for wide in (False, True):
        with jax.enable_x64(wide):
            f(np.ones(2), np.array(1.0))
            with pytest.raises(CallError):
                f(np.ones((2, 2)), np.array(1.0))
            assert jax.numpy.asarray(1.0).dtype == ("float64" if wide else "float32")


@pytest.mark.parametrize("way", ["swap", "jax_swap", "program"])
def test_interrupted_when_x64_has_been_turned_on_a_call_turns_it_off(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = tt.dvector("x"), shared(np.ones(2))
    f = function([x], 2 * x, updates={w: w + x} if way == "jax_swap" else None, mode="JAX")
    for _ in range(3):
        f(np.ones(2))
    real = swap_x64
    calls: list[object] = []

    def interrupted(value: object) -> object:
        before = real(value)
        if not calls:
            calls.append(value)
            raise KeyboardInterrupt
        return before

    before = jax.enable_x64.get_local()
    with monkeypatch.context() as patch:
        if way == "program":
            patch.setattr("treadle.link.jax.programs.program.swap_x64", interrupted)
        else:
            patch.setitem(f.caller.__globals__, way, interrupted)
        with pytest.raises(KeyboardInterrupt):
            f.program(np.ones(2)) if way == "program" else f(np.ones(2))
    assert calls == [True]
    assert jax.enable_x64.get_local() is before
