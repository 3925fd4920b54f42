"""The values that a function keeps, by position, variable or name, and how it describes itself."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    DUPLICATE,
    CallError,
    Container,
    Function,
    In,
    Mode,
    OpFromGraph,
    UnknownInputError,
    function,
    shared,
)


def sample(**options: Any) -> tuple[Function, Any, Any, Any]:
    x, y, state = tt.dvector("x"), tt.dscalar("y"), shared(np.ones(2), name="state")
    f = function([x, In(y, value=2.0)], {"a": x * y, "b": x + state}, updates={state: state * 2}, mode="VM", **options)
    return f, x, y, state


@pytest.mark.documents("Function.finder", "Function.container", "F38", "P10")
def test_cells_are_found_by_position_variable_and_name() -> None:
    f, x, y, state = sample()
    assert f.finder[1] is f.finder[y] is f.finder["y"] is f.container[1] is f.container["y"]
    assert f.finder[2] is f.finder[state] is f.finder["state"] is state.container
    assert set(f.finder) == {0, 1, 2, x, y, state, "x", "y", "state"}
    assert [type(cell) for cell in f.input_storage] == [Container] * 3
    assert len(f.container) == len(f.value) == 3


@pytest.mark.documents("Function.value", "Function.__getitem__", "Function.__contains__", "F32")
def test_values_are_read_by_position_variable_and_name() -> None:
    f, x, y, state = sample()
    assert (f[x], f[y], f["y"], f[1], f.value[y]) == (None, 2.0, 2.0, 2.0, 2.0)
    f([1.0, 1.0])
    assert f[state].tolist() == f["state"].tolist() == f[2].tolist() == [2.0, 2.0]
    keys: list[Any] = [x, "y", 2, 3, "z", tt.dscalar(), []]
    assert [key in f for key in keys] == [True, True, True, False, False, False, False]


def test_value_read_is_a_copy() -> None:
    f, *_, state = sample()
    f["state"][:] = 9.0
    assert state.get_value().tolist() == [1.0, 1.0]


@pytest.mark.documents("Function.__setitem__")
def test_values_can_be_set() -> None:
    f, x, y, state = sample()
    f[y] = 3
    f.value["state"] = [5.0, 5.0]
    result = f([1.0, 2.0])
    assert (result["a"].tolist(), result["b"].tolist()) == ([3.0, 6.0], [6.0, 7.0])
    assert state.get_value().tolist() == [10.0, 10.0]
    value = np.ones(2)
    f[x] = value
    value[:] = 7.0
    assert f()["a"].tolist() == [3.0, 3.0]
    assert f([2.0, 2.0])["a"].tolist() == [6.0, 6.0]


def test_value_that_does_not_fit_is_refused() -> None:
    f, _, y, state = sample()
    with pytest.raises(TypeError, match="Scalar"):
        f[y] = np.ones(3)
    with pytest.raises(TypeError, match="Vector"):
        f[state] = "text"
    assert (f[y], f[state].tolist()) == (2.0, [1.0, 1.0])


@pytest.mark.documents("error:UnknownInputError", "DUPLICATE", "F38")
def test_unknown_and_ambiguous_keys_are_named() -> None:
    x, twin = tt.dscalar("x"), tt.dscalar("x")
    f = function([x, twin], x - twin, mode="VM", name="f")
    assert f.finder["x"] is DUPLICATE
    assert "x" not in f
    with pytest.raises(UnknownInputError, match=r"f: several inputs have the name 'x'\. Ask by position"):
        f["x"]
    with pytest.raises(UnknownInputError, match="several inputs have the name 'x'"):
        f.value["x"] = 3
    for key in ("z", 2, tt.dscalar("other")):
        with pytest.raises(UnknownInputError, match=r"f: no input or shared variable is .*Named ones: 'x'; positions"):
            f.container[key]
    with pytest.raises(KeyError):
        f["z"]
    f[0], f[1] = 5.0, 3.0
    assert f() == 2.0


def test_function_is_not_a_sequence() -> None:
    f, *_ = sample()
    with pytest.raises(CallError, match="cannot be walked through"):
        list(f)


@pytest.mark.documents(
    "Function.indices",
    "Function.defaults",
    "Function.unpack_single",
    "Function.return_none",
    "Function.output_keys",
    "Function.outputs",
    "Function.input_storage",
    "Function.output_storage",
    "F31",
)
def test_form_of_the_call_is_described() -> None:
    f, _, y, _ = sample()
    x = tt.dscalar("x")
    single, nothing = function([x], x, mode="VM"), function([], mode="VM")
    assert (f.unpack_single, single.unpack_single, f.return_none, nothing.return_none) == (False, True, False, True)
    assert (f.output_keys, single.output_keys) == (["a", "b"], None)
    assert [(item.variable, places) for item, places, _ in f.indices][1] == (y, [1])
    assert [(required, refeed) for required, refeed, _ in f.defaults] == [(True, False), (False, True), (False, False)]
    assert len(f.outputs) == len(f.output_storage) == 2
    assert [cell.data for cell in f.output_storage] == [None, None]


@pytest.mark.documents("Function.maker", "Function.vm", "Function.dprint", "Function.get_shared", "Function.profile")
def test_parts_of_a_function_can_be_reached() -> None:
    f, *_, state = sample(name="f")
    assert f.maker.fgraph is f.fgraph
    assert f.vm is f.program
    assert "state" in f.dprint(file="str")
    assert f.get_shared() == [state]
    assert f.profile is None


@pytest.mark.documents("Function.__repr__")
@pytest.mark.parametrize("mode", ["VM", "C", "FAST_RUN"])
def test_repr_shows_signature_mode_backend_and_line(mode: str) -> None:
    x = tt.dscalar("x")
    f = function([x, In(tt.dscalar("n"), value=1.0)], x, mode=mode, name="f", on_unused_input="ignore")
    shown = repr(f)
    assert shown.startswith("<f(x: Scalar(float64), n: Scalar(float64) = default) on ")
    assert f.maker.mode.backend.name.upper() in shown.upper()
    assert " made at test_lookup.py:" in shown


def test_inspect_tells_how_to_call() -> None:
    x, n = tt.dscalar("x"), tt.dscalar("n")
    f = function([x, In(n, value=2.0)], x * n, mode="VM")
    assert str(inspect.signature(f)) == "(x, n=array(2.), *, output_subset=None)"
    for inputs in ([In(n, value=2.0), x], [n, In(x, name="n")], [n, In(x, name="a b")]):
        assert str(inspect.signature(function(inputs, x * n, mode="VM"))) == "(*args, output_subset=None, **kwargs)"
    assert "maker" in inspect.signature(Function).parameters


@pytest.mark.documents("Function.nodes_with_inner_function")
def test_nodes_with_an_inner_graph_are_listed() -> None:
    x = tt.dvector("x")
    op = OpFromGraph([x], [tt.sin(x) * 2])
    f = function([x], tt.exp(op(x)) + x, mode=Mode("vm", None))
    (node,) = f.nodes_with_inner_function
    assert node.op == op
    assert function([x], tt.exp(x), mode="VM").nodes_with_inner_function == []


# Some of the outputs


@pytest.mark.documents("Function.output_subset", "F41", "F42")
@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_some_outputs_can_be_asked_for(mode: str) -> None:
    x, state = tt.dscalar("x"), shared(0.0)
    f = function([x], [x, x + 1, x + 2], updates={state: state + 1}, mode=mode)
    assert f(1, output_subset=[2, 0]) == [3.0, 1.0]
    assert f(1, output_subset=[1]) == [2.0]
    assert f(x=1, output_subset=[]) == []
    assert f(1, output_subset=None) == [1.0, 2.0, 3.0]
    assert f(1, output_subset=list(np.flatnonzero([0, 1, 1]))) == [2.0, 3.0]
    assert state.get_value() == 5.0
    assert f.copy(delete_updates=True)(1, output_subset=(1,)) == [2.0]
    assert state.get_value() == 5.0


@pytest.mark.documents("F40", "F41")
def test_only_what_is_asked_for_is_computed() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    f = function([x, y], {"good": x * 2, "bad": x + y}, mode="VM")
    assert f([1.0], [1.0, 2.0, 3.0], output_subset=["good"])["good"].tolist() == [2.0]
    assert list(f([1.0], [2.0], output_subset=["bad", 0])) == ["bad", "good"]
    with pytest.raises(CallError, match=r"argument 1, y of type .* is missing"):
        f([1.0], output_subset=["good"])


@pytest.mark.documents("F41")
def test_single_output_asked_for_comes_in_a_list() -> None:
    x = tt.dscalar("x")
    assert function([x], x + 1, mode="VM")(1, output_subset=[0]) == [2.0]


@pytest.mark.parametrize("wanted", [["c"], [2], [-1], 0, "a", [[]]])
def test_outputs_that_do_not_exist_are_named(wanted: Any) -> None:
    f, *_ = sample(name="f")
    with pytest.raises(CallError, match=r"f: output_subset must be a list .* positions 0 to 1 and the keys 'a', 'b'"):
        f([1.0, 1.0], output_subset=wanted)


@pytest.mark.documents("Function.get_shared", "Function.__getitem__", "Function.copy.swap")
def test_state_that_is_only_written_can_be_looked_up_and_swapped_too() -> None:
    x, last, other = tt.dscalar("x"), shared(0.0, "last"), shared(-1.0, "other")
    f = function([x], x * 2, updates={last: x}, mode="VM")
    f(3)
    assert (f.get_shared(), f["last"], f[last], f[1]) == ([last], 3.0, 3.0, 3.0)
    f["last"] = 7
    assert last.get_value() == 7.0
    swapped = f.copy(swap={last: other})
    swapped(4)
    assert (swapped.get_shared(), swapped["other"], last.get_value()) == ([other], 4.0, 7.0)
    assert f.copy(delete_updates=True).get_shared() == []
    loaded = pickle.loads(pickle.dumps(f))
    loaded(5)
    assert (loaded["last"], last.get_value()) == (5.0, 7.0)
