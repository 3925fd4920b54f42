"""Functions copied, pickled and dumped."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    AliasedMemoryError,
    CallError,
    Function,
    FunctionTypeError,
    FunctionValueError,
    FunctionWarning,
    In,
    Out,
    StripPickler,
    function,
    function_dump,
    shared,
)
from treadle.config import config
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from pathlib import Path


def counter(mode: str = "VM", **options: Any) -> tuple[Function, Any, Any]:
    step, state = tt.dscalar("step"), shared(0.0, name="state")
    f = function([In(step, value=1.0)], state, updates={state: state + step}, mode=mode, **options)
    return f, step, state


# Copies


@pytest.mark.documents("Function.copy.share_memory", "Function.copy.name", "F33", "F44", "F45", "F48", "Function.copy")
@pytest.mark.parametrize("share_memory", [False, True])
def test_copy_uses_the_same_state_and_defaults_of_its_own(share_memory: bool) -> None:
    f, step, state = counter(name="count")
    twin = f.copy(share_memory=share_memory)
    twin[step] = 10.0
    assert (f[step], f(), twin(), f()) == (1.0, 0.0, 1.0, 11.0)
    assert state.get_value() == 12.0
    assert (twin.name, f.copy(name="other").name, copy.copy(f).name) == ("count copy", "other", "count")
    assert counter()[0].copy().name is None


@pytest.mark.documents("F34")
def test_copy_is_not_compiled_again_and_has_a_graph_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    f, *_ = counter()
    monkeypatch.setattr(PythonLinker, "link", None)
    twin = f.copy(swap={f.get_shared()[0]: shared(5.0)})
    assert twin() == 5.0
    assert twin.maker is not f.maker
    assert twin.maker.fgraph is not f.maker.fgraph


def test_copy_of_an_input_with_update_counts_for_itself() -> None:
    n = tt.dscalar("n")
    f = function([In(n, value=0.0, update=n + 1)], n, mode="VM")
    f()
    twin = copy.copy(f)
    assert [f(), f(), twin(), twin(), f()] == [1.0, 2.0, 1.0, 2.0, 3.0]


def test_functions_made_with_one_in_have_defaults_of_their_own() -> None:
    n = tt.dscalar("n")
    item = In(n, value=0.0, update=n + 1)
    f, g = (function([item], n, mode="VM") for _ in range(2))
    assert [f(), f(), g(), f()] == [0.0, 1.0, 0.0, 2.0]


@pytest.mark.documents("Function.copy.swap", "F46")
@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
def test_copy_may_have_other_shared_variables(mode: str) -> None:
    f, _, state = counter(mode)
    other = shared(100.0, name="other")
    twin = f.copy(swap={state: other})
    assert [f(), twin(), twin(), f()] == [0.0, 100.0, 101.0, 1.0]
    assert (state.get_value(), other.get_value()) == (2.0, 102.0)
    assert twin.get_shared() == [other]
    assert "other" in twin.dprint(file="str")


@pytest.mark.documents("F46")
def test_variables_can_be_swapped_for_one_another() -> None:
    a, b, c = (shared(float(k), name=name) for k, name in enumerate("abc"))
    f = function([], a - b, updates={a: a + 10}, mode="VM")
    assert f.copy(swap={a: b, b: a})() == 1.0
    assert (a.get_value(), b.get_value()) == (0.0, 11.0)
    assert f.copy(swap={b: a})() == 0.0
    with pytest.raises(FunctionValueError, match="two updates are made of one shared variable"):
        function([], updates={a: a + 1, b: b + 1}, mode="VM").copy(swap={a: b})
    with pytest.raises(FunctionValueError, match=r"swap replaces shared variables of the function \(a, b\), got c"):
        f.copy(swap={c: a})
    with pytest.raises(FunctionTypeError, match=r"b of type Scalar\(float64\) can be swapped .* got v of type Vector"):
        f.copy(swap={b: shared(np.ones(2), name="v")})
    with pytest.raises(FunctionTypeError, match="got 3"):
        f.copy(swap={b: 3})
    with pytest.raises(FunctionTypeError, match=r"swap must be a dict, got \[\(b, a\)\]"):
        f.copy(swap=[(b, a)])  # type: ignore[arg-type]


@pytest.mark.documents("Function.copy.delete_updates", "F42", "F47")
def test_copy_may_leave_out_the_updates() -> None:
    f, _, state = counter()
    reading = f.copy(delete_updates=True)
    assert [f(), reading(), reading()] == [0.0, 1.0, 1.0]
    assert state.get_value() == 1.0
    n = tt.dscalar("n")
    fixed = function([In(n, value=0.0, update=n + 1)], n, mode="VM").copy(delete_updates=True)
    assert [fixed(), fixed()] == [0.0, 0.0]


def test_copy_keeps_trust_keys_and_mode() -> None:
    x = tt.dvector("x")
    f = function([x], {"y": Out(x + 1)}, mode="VM", trust_input=True)
    twin = f.copy()
    assert (twin.trust_input, twin.output_keys, twin.maker.mode) == (True, ["y"], f.maker.mode)
    f.trust_input = False
    assert twin.trust_input


# Pickles


PROGRAM = """
import pickle, sys
f, g = pickle.load(open(sys.argv[1], "rb"))
print(float(f()), float(f(2.0)), float(g()), f.name, f.trust_input, str(f.maker.mode), f["state"])
"""


@pytest.mark.documents("F36")
@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
def test_another_process_runs_it_on_every_backend(mode: str, tmp_path: Path) -> None:
    f, _, state = counter(mode, name="count")
    f()
    file = tmp_path / "functions.pickle"
    file.write_bytes(pickle.dumps((f, function([], state * 10, mode=mode))))
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"1.0 2.0 40.0 count False {mode} 4.0\n", "")


@pytest.mark.documents("Function.pickle_aliased_memory_strategy", "error:AliasedMemoryError", "error:FunctionWarning")
def test_values_that_share_memory_are_reported() -> None:
    memory = np.zeros(4)
    a, b = shared(memory, borrow=True), shared(memory[1:], borrow=True)
    f = function([], a.sum() + b.sum(), mode="VM")
    with pytest.warns(FunctionWarning, match="two of the values that the function keeps share memory"):
        loaded = pickle.loads(pickle.dumps(f))
    assert loaded() == 0.0
    f.pickle_aliased_memory_strategy = "raise"
    with pytest.raises(AliasedMemoryError, match="to 'ignore'"):
        pickle.dumps(f)
    f.pickle_aliased_memory_strategy = "ignore"
    assert pickle.loads(pickle.dumps(f)).pickle_aliased_memory_strategy == "ignore"
    f.pickle_aliased_memory_strategy = "maybe"
    with pytest.raises(FunctionValueError, match="one of warn, ignore, raise, got 'maybe'"):
        pickle.dumps(f)


@pytest.mark.documents("option:unpickle_function")
def test_functions_need_not_be_unpickled() -> None:
    data = pickle.dumps(counter()[0])
    with config.change_flags(unpickle_function=False):
        assert pickle.loads(data) is None


@pytest.mark.documents("StripPickler")
def test_tags_lines_and_values_can_be_left_out_of_a_pickle() -> None:
    x, state = tt.dscalar("x"), shared(np.full(3, 7.0), name="state")
    y = x + state.sum()
    y.tag.note = "remember"
    y.tag.kept = "kept"
    f = function([x], y, mode="VM")
    file = io.BytesIO()
    StripPickler(file, extra_tag_to_remove=["note"], strip_values=True).dump((f, y))
    data = file.getvalue()
    assert b"remember" not in data
    assert b"test_copies.py" not in data
    loaded, var = pickle.loads(data)
    assert vars(var.tag) == {"kept": "kept"}
    assert var.user_line is None
    with pytest.raises(CallError, match="state holds no value: it was left out when the function was pickled"):
        loaded(1.0)
    loaded["state"] = np.ones(3)
    assert loaded(1.0) == 4.0
    with pytest.raises(FunctionTypeError, match="names of tag attributes are needed, got 3"):
        StripPickler(io.BytesIO(), extra_tag_to_remove=[3])  # type: ignore[list-item]  # it is wrong


@pytest.mark.documents(
    "function_dump", "function_dump.filename", "function_dump.extra_tag_to_remove", "F27", "F29", "F30"
)
def test_arguments_of_a_function_can_be_dumped_and_loaded(tmp_path: Path) -> None:
    x, state = tt.dscalar("x"), shared(5.0, name="state")
    y = x * state
    y.tag.note = "remember"
    file = tmp_path / "dump.pickle"
    function_dump(
        file,
        [In(x, value=2.0)],
        {"y": y},
        mode="VM",
        updates={state: state + 1},
        givens={},
        name="dumped",
        on_unused_input="ignore",
        extra_tag_to_remove="note",
    )
    data = file.read_bytes()
    assert b"remember" not in data
    loaded = function(**pickle.loads(data))
    assert [loaded()["y"], loaded(1.0)["y"], loaded.name] == [10.0, 6.0, "dumped"]
    assert state.get_value() == 5.0


def test_dump_takes_every_parameter_of_function() -> None:
    import inspect

    names = list(inspect.signature(function).parameters)
    dumped = [n for n in inspect.signature(function_dump).parameters if n not in {"filename", "strip_values"}]
    assert sorted(dumped) == sorted([*names, "extra_tag_to_remove"])


@pytest.mark.documents("function_dump.strip_values", "F28")
def test_values_can_be_left_out_of_a_dump(tmp_path: Path) -> None:
    state = shared(np.full(1000, 7.0), name="state")
    function_dump(str(tmp_path / "dump"), [], state.sum(), mode="VM", strip_values=True)
    data = (tmp_path / "dump").read_bytes()
    assert len(data) < 4000
    with pytest.raises(CallError, match="state holds no value"):
        function(**pickle.loads(data))()
