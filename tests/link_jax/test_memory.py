"""Ownership: results belong to the caller, values may stay on the device."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_jax.programs import link
from treadle.compile import function, get_mode, shared
from treadle.config import config

X = np.arange(4.0)


def test_results_share_no_memory_with_inputs_constants_or_each_other() -> None:
    x = tt.dvector("x")
    c = tt.constant(np.arange(3.0))
    value = X.copy()
    results = link([x], [x, x, x.dimshuffle(0), c, x[::1]])(value)
    for result in results:
        assert result.flags.writeable
        np.add(result, 10, out=result)
    assert value.tolist() == X.tolist()
    assert c.data.tolist() == [0, 1, 2]
    assert [r.tolist() for r in results[:2]] == [(X + 10).tolist()] * 2


def test_results_of_a_later_call_are_new_arrays() -> None:
    x = tt.dvector("x")
    program = link([x], [x + 1])
    first, second = program(X)[0], program(X)[0]
    assert not np.may_share_memory(first, second)


def test_outputs_asked_for_in_native_form_are_jax_arrays() -> None:
    x = tt.dvector("x")
    program = link([x], [x + 1, x * 2], native=[1])
    host, native = program(X)
    assert type(host) is np.ndarray
    assert isinstance(native, jax.Array)
    assert native.dtype == "float64"
    fetched = program.fetch(native, x.type)
    fetched += 1
    assert (fetched == X * 2 + 1).all()
    assert (np.asarray(native) == X * 2).all()


def test_native_values_are_taken_as_inputs() -> None:
    x = tt.dvector("x")
    program = link([x], [x + 1], native=[0])
    assert np.asarray(program(*program(X))[0]).tolist() == (X + 2).tolist()


def test_a_native_output_that_is_an_input_does_not_follow_the_input() -> None:
    x = tt.dvector("x")
    value = np.ones(10**6)
    (native,) = link([x], [x], native=[0])(value)
    value[:] = 5
    assert np.asarray(native).max() == 1


def test_an_input_may_be_changed_as_soon_as_the_call_returns() -> None:
    x = tt.dvector("x")
    y = x
    for _ in range(4):
        y = tt.sin(y)
    program = link([x], [y.sum()], native=[0])
    expected = float(program(np.ones(10**6))[0])
    for _ in range(3):
        value = np.ones(10**6)
        (native,) = program(value)
        value[:] = 3
        assert float(native) == expected


class Foreign:
    """An array of another library."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.data


def test_arrays_of_other_libraries_are_converted() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    assert link([x], [x + 1])(Foreign(X))[0].tolist() == (X + 1).tolist()
    assert link([x, n], [x[:n]])(Foreign(X), Foreign(np.array(2)))[0].tolist() == [0, 1]


def test_inputs_of_any_layout_are_taken() -> None:
    x = tt.dmatrix("x")
    value = np.arange(24.0).reshape(4, 6)
    readonly = value.copy()
    readonly.flags.writeable = False
    for layout in (value[::-1, ::-2], value.T, value[1:1], np.asfortranarray(value), readonly):
        assert (link([x], [x + 1])(layout)[0] == layout + 1).all()


def test_large_results_belong_to_the_caller() -> None:
    x = tt.dvector("x")
    c = tt.constant(np.arange(20_000.0))
    program = link([x], [x + 1, x + 1, x, x, c, c, x[::1]])
    value = np.arange(20_000.0)
    results = program(value)
    for at, result in enumerate(results):
        assert type(result) is np.ndarray
        assert result.flags.writeable
        assert not any(np.may_share_memory(result, other) for other in (*results[:at], value, c.data))
        np.add(result, at, out=result)
    again = program(value)
    assert (again[0] == value + 1).all()
    assert (again[4] == np.arange(20_000.0)).all()
    assert (results[1] == value + 2).all()


def test_a_mode_returns_every_output_as_a_jax_array() -> None:
    x, total = tt.dvector("x"), shared(0.0, name="total")
    mode = get_mode("JAX").clone(link_kwargs={"device_outputs": True})
    assert type(function([x], x + 1, mode="JAX")(X)) is np.ndarray
    add = function([x], [x + 1, total], updates={total: total + x.sum()}, mode=mode)
    first, before = add(X)
    assert isinstance(first, jax.Array)
    assert isinstance(before, jax.Array)
    again, after = add(first)
    assert np.asarray(again).tolist() == (X + 2).tolist()
    assert (float(before), float(after), float(total.get_value())) == (0, 6, 16)
    assert isinstance(function([x], x + 1, mode=mode)(X), jax.Array)


def test_an_option_has_all_functions_return_jax_arrays_but_those_of_a_mode_that_says_otherwise() -> None:
    x = tt.dvector("x")
    on_host = get_mode("JAX").clone(link_kwargs={"device_outputs": False})
    with config.change_flags(jax__device_outputs=True):
        on_device, told = function([x], x + 1, mode="JAX"), function([x], x + 1, mode=on_host)
    assert isinstance(on_device(X), jax.Array)
    assert type(told(X)) is np.ndarray
    assert type(function([x], x + 1, mode="JAX")(X)) is np.ndarray


def test_what_is_no_flag_is_refused_for_device_outputs() -> None:
    mode = get_mode("JAX").clone(link_kwargs={"device_outputs": "cpu"})
    with pytest.raises(TypeError, match="JAXLinker: device_outputs"):
        function([], tt.constant(1.0), mode=mode)


def test_arrays_of_jax_are_taken_where_lengths_are_known() -> None:
    x = tt.tensor("x", shape=(4,), dtype="float64")
    f = function([x], x + 1, mode="JAX")
    with jax.enable_x64(True):
        assert f(jax.numpy.arange(4.0)).tolist() == (X + 1).tolist()
        with pytest.raises(TypeError):
            f(jax.numpy.arange(5.0))
