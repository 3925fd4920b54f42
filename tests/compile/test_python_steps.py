"""Ops of users that compute in Python alone, on compiling backends: steps between compiled parts."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

import treadle.tensor as tt
import treadle.tensor.random as tr
from tests.compile.user_ops import (
    AddOneInPlace,
    Backwards,
    Pack,
    Record,
    Steps,
    SumAndLength,
    Twice,
    TwiceOfThree,
    Unpack,
)
from treadle.compile import Out, function, shared
from treadle.config import config
from treadle.graph import LoweringError, NodeTypeError
from treadle.link.vm import PythonStepWarning, WrongLengthWarning
from treadle.tensor import SCALAR_OPS, Elemwise, ScalarOp

torch: Any = pytest.importorskip("torch")

MODES = ("NUMBA", "JAX", "PYTORCH")
VALUE = np.array([3.0, 1.0, 2.0])
TELLS = pytest.mark.filterwarnings("ignore::treadle.link.vm.PythonStepWarning")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with config.change_flags(torch__compile=False):
        yield request.param


def test_one_warning_names_the_op_and_its_line(mode: str) -> None:
    x = tt.dvector("x")
    y = Twice()(tt.exp(x))  # the line
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        f = function([x], y + Twice()(y), mode=mode)
        np.testing.assert_allclose(f(VALUE), 6 * np.exp(VALUE))
    of_steps = [w for w in warned if w.category is PythonStepWarning]
    assert len(of_steps) == 1
    assert "Twice, built at test_python_steps.py:" in str(of_steps[0].message)
    assert "# the line" in str(of_steps[0].message)
    assert of_steps[0].filename == __file__


def test_an_option_refuses_python_steps(mode: str) -> None:
    x = tt.dvector("x")
    with config.change_flags(on_python_step="raise"), pytest.raises(LoweringError) as caught:
        function([x], Twice()(x) + 1, mode=mode)
    lines = str(caught.value).splitlines()
    assert lines[1].startswith("  Twice of Vector(float64, shape=(?,)), built at test_python_steps.py:")
    assert lines[-1].startswith("Register a rule for Twice, or set the option on_python_step to warn")


def test_an_option_silences_the_warning(mode: str) -> None:
    x = tt.dvector("x")
    with config.change_flags(on_python_step="ignore"):
        f = function([x], Twice()(x) + 1, mode=mode)
    np.testing.assert_array_equal(f(VALUE), 2 * VALUE + 1)


@TELLS
@pytest.mark.parametrize("backend", [*MODES, None])
def test_an_option_lets_steps_make_other_lengths_than_their_types_say(backend: str | None) -> None:
    x = tt.dvector("x")
    y = TwiceOfThree()(x)
    outs = [tt.exp(y) + x, TwiceOfThree()(y + 1).sum() * 2]
    value = np.arange(5.0)
    expected = [np.exp(2 * value) + value, (2 * (2 * value + 1)).sum() * 2]
    with config.change_flags(on_wrong_length="warn", torch__compile=False):
        f = function([x], outs, mode=backend)
        for call in (f, pickle.loads(pickle.dumps(f))):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always", WrongLengthWarning)
                for result, right in zip(call(value), expected, strict=True):
                    np.testing.assert_allclose(result, right)
            told = [w for w in warned if w.category is WrongLengthWarning]
            assert len(told) == 2
            assert told[0].filename == __file__
            assert "TwiceOfThree, built at test_python_steps.py:" in str(told[0].message)
            assert "is of type Vector(float64, shape=(5,)), but its variable is of type" in str(told[0].message)
        f(value[:3])
    with config.change_flags(on_wrong_length="ignore", torch__compile=False):
        for result, right in zip(function([x], outs, mode=backend)(value), expected, strict=True):
            np.testing.assert_allclose(result, right)


@TELLS
@pytest.mark.parametrize("choice", ["warn", "ignore"])
def test_states_of_generators_keep_their_length_between_steps(choice: str) -> None:
    with config.change_flags(on_wrong_length=choice):
        later, x = tr.exponential(1.0, size=(3,), rng=shared(tr.PortableGenerator(3)), return_next_rng=True)
        y = tr.exponential(Twice()(x), size=(3,), rng=later)
        assert (function([], y)() > 0).all()


@TELLS
def test_a_compiled_part_refuses_other_lengths_unless_told_otherwise() -> None:
    x = tt.dvector("x")
    f = function([x], TwiceOfThree()(x) + x)
    with pytest.raises(NodeTypeError, match=r"is of type Vector\(float64, shape=\(3,\)\), got float64 of shape \(5,\)"):
        f(np.arange(5.0))


@TELLS
def test_several_outputs_no_inputs_and_views(mode: str) -> None:
    x = tt.dvector("x")
    total, length = SumAndLength()(x + 1)
    f = function([x], [total * 2, tt.zeros(length), Steps()() + x, Backwards()(x), Backwards()(x * 2) + 1], mode=mode)
    for _ in range(2):
        results = f(VALUE)
        expected = [18.0, np.zeros(3), VALUE + np.arange(3.0), VALUE[::-1], 2 * VALUE[::-1] + 1]
        for value, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(value, wanted)


@TELLS
def test_overwritten_values_are_not_the_callers_and_are_read_first(mode: str) -> None:
    x = tt.dvector("x")
    y = x * 2
    argument = VALUE.copy()
    f = function([x], [AddOneInPlace()(y) * 2, y.sum(), AddOneInPlace()(x)], mode=mode, accept_inplace=True)
    for _ in range(2):
        first, second, third = f(argument)
        np.testing.assert_array_equal(first, 4 * VALUE + 2)
        np.testing.assert_array_equal(second, 12.0)
        np.testing.assert_array_equal(third, VALUE + 1)
    np.testing.assert_array_equal(argument, VALUE)


@TELLS
def test_values_that_are_not_arrays_pass_between_steps_and_in_and_out(mode: str) -> None:
    x, r = tt.dvector("x"), Record()("r")
    f = function([x, r], [Unpack()(Pack()(x + 1)) * 2, Unpack()(r) + x, Pack()(x), r], mode=mode)
    first, second, third, fourth = f(VALUE, {"sum": 5.0})
    np.testing.assert_array_equal(first, 18.0)
    np.testing.assert_array_equal(second, VALUE + 5)
    assert third == {"sum": 6.0}
    assert fourth == {"sum": 5.0}


@TELLS
def test_an_error_in_perform_names_op_and_line(mode: str) -> None:
    x = tt.dvector("x")
    f = function([x], Twice()(x + 1) * 2, mode=mode)
    with pytest.raises(ValueError, match=r"(?s)Twice: no number.*test_python_steps\.py"):
        f(np.array([np.nan]))
    np.testing.assert_array_equal(f(VALUE), 4 * VALUE + 4)


@TELLS
def test_gradients_flow_through(mode: str) -> None:
    x = tt.dvector("x")
    f = function([x], tt.grad((Twice()(x) ** 2).sum(), x), mode=mode)
    np.testing.assert_allclose(f(VALUE), 8 * VALUE)


@TELLS
def test_steps_stand_in_inner_graphs_and_in_branches_that_run_alone(mode: str) -> None:
    x, c = tt.dvector("x"), tt.iscalar("c")
    inner = tt.OpFromGraph([x], [Twice()(x) + 1])
    f = function([c, x], tt.ifelse(c, inner(x * 2) * 2, x - 1), mode=mode)
    np.testing.assert_array_equal(f(1, VALUE), 8 * VALUE + 2)
    np.testing.assert_array_equal(f(0, np.array([np.nan, 1.0])), [np.nan, 0.0])


@TELLS
def test_a_wrapped_python_function_is_a_step(mode: str) -> None:
    x = tt.dvector("x")
    in_order = tt.wrap_py(itypes=[tt.dvector], otypes=[tt.dvector])(np.sort)
    np.testing.assert_array_equal(function([x], in_order(x * 2) + 1, mode=mode)(VALUE), [3.0, 5.0, 7.0])


@TELLS
def test_a_function_with_steps_is_pickled(mode: str) -> None:
    x = tt.dvector("x")
    f = pickle.loads(pickle.dumps(function([x], Twice()(x) + 1, mode=mode)))
    np.testing.assert_array_equal(f(VALUE), 2 * VALUE + 1)


@TELLS
def test_threads_share_a_function_with_steps(mode: str) -> None:
    x = tt.dvector("x")
    f = function([x], Twice()(x * 3) + 1, mode=mode)
    f(VALUE)
    start = threading.Barrier(4)
    equal: list[bool] = []

    def work(k: int) -> None:
        start.wait()
        equal.extend(np.array_equal(f(VALUE + k), 6 * (VALUE + k) + 1) for _ in range(10))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert equal == [True] * 40


@TELLS
def test_shared_state_is_updated_through_steps(mode: str) -> None:
    x, s = tt.dvector("x"), shared(np.ones(3))
    f = function([x], [], updates=[(s, Twice()(s) + x)], mode=mode)
    f(VALUE)
    f(VALUE)
    np.testing.assert_array_equal(s.get_value(), 4 + 3 * VALUE)


@TELLS
@pytest.mark.parametrize(("library", "kind"), [("JAX", jax.Array), ("PYTORCH", torch.Tensor)])
def test_borrowed_outputs_are_the_librarys_own(library: str, kind: type) -> None:
    x = tt.dvector("x")
    with config.change_flags(torch__compile=False):
        f = function([x], [Out(Twice()(x) + 1, borrow=True), x * 2], mode=library)
    first, second = f(VALUE)
    assert isinstance(first, kind)
    assert isinstance(second, np.ndarray)
    np.testing.assert_array_equal(np.asarray(first), 2 * VALUE + 1)


@TELLS
def test_compiled_parts_stand_between_the_steps() -> None:
    x = tt.dvector("x")
    f = function([x], tt.exp(Twice()(tt.log(x) + 1)) * 2, mode="JAX")
    ops = [str(node.op) for node in f.program.fgraph.toposort()]  # type: ignore[attr-defined]
    assert [op.partition("(")[0] for op in ops] == ["Segment", "Twice", "Segment"]


# Values that a backend lacks


def _value(dtype: str, ndim: int) -> Any:
    return np.ones((2,) * ndim, dtype)


@pytest.mark.parametrize("backend", ["C", "CVM", *MODES])
@pytest.mark.parametrize("dtype", ["bool", "uint16", "float16", "complex64", "complex128"])
def test_values_of_every_dtype_are_ignored_or_passed_on_unchanged(backend: str, dtype: str) -> None:
    y, u, v = tt.dvector("y"), tt.TensorType(dtype, (None,))("u"), tt.TensorType(dtype, ())("v")
    state = shared(_value(dtype, 1))
    with config.change_flags(torch__compile=False):
        f = function([y, u, v], y + 1, mode=backend, on_unused_input="ignore")
        g = function([y, u], [y + 1, u, tt.constant(_value(dtype, 0)), state], updates=[(state, u)], mode=backend)
    np.testing.assert_array_equal(f(VALUE, _value(dtype, 1), _value(dtype, 0)), VALUE + 1)
    first, second, third, fourth = g(VALUE, np.zeros_like(_value(dtype, 1)))
    np.testing.assert_array_equal(first, VALUE + 1)
    np.testing.assert_array_equal(second, np.zeros_like(_value(dtype, 1)))
    np.testing.assert_array_equal(third, _value(dtype, 0))
    np.testing.assert_array_equal(fourth, _value(dtype, 1))
    np.testing.assert_array_equal(state.get_value(), np.zeros_like(_value(dtype, 1)))
    assert {second.dtype, third.dtype, fourth.dtype, state.get_value().dtype} == {np.dtype(dtype)}


@pytest.mark.parametrize("backend", ["C", "CVM", *MODES])
def test_an_unused_value_that_is_not_an_array_is_ignored(backend: str) -> None:
    y, r = tt.dvector("y"), Record()("r")
    with config.change_flags(torch__compile=False):
        f = function([y, r], y + 1, mode=backend, on_unused_input="ignore")
    np.testing.assert_array_equal(f(VALUE, {"anything": 1}), VALUE + 1)


def test_an_elementwise_function_of_the_users_own_is_a_step(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SCALAR_OPS, "_scalar_ops", dict(SCALAR_OPS._scalar_ops))  # only this test knows the scalar op
    cube = ScalarOp(name="cube", impl=lambda x: x**3)
    x = tt.dvector("x")
    with pytest.warns(PythonStepWarning, match="SCALARS"):
        f = function([x], Elemwise(cube)(x) * 2, mode=mode)
    np.testing.assert_array_equal(f(VALUE), 2 * VALUE**3)
    with config.change_flags(on_python_step="raise"), pytest.raises(LoweringError) as caught:
        function([x], Elemwise(cube)(x) * 2, mode=mode)
    assert "egister the function in treadle.link." in str(caught.value)
    assert "Register a rule for Elemwise" not in str(caught.value)
