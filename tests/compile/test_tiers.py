"""Functions that run on the Python VM while they are compiled in the background."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    DebugMode,
    FunctionMaker,
    FunctionTypeError,
    FunctionValueError,
    FunctionWarning,
    In,
    Mode,
    MonitorMode,
    NanGuardMode,
    Out,
    function,
    function_dump,
    get_mode,
    shared,
)
from treadle.compile.functions.tiering import tiers
from treadle.compile.functions.tiering.background import THREADS
from treadle.compile.stored.programs import FUNCTIONS
from treadle.config import checkpoint, config
from treadle.graph import Apply, GraphTypeError, LoweringError, NodeError, Op
from treadle.link.vm import VMProgram

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class Gate:
    """Where compilations in the background wait."""

    def __init__(self) -> None:
        self.reached = threading.Semaphore(0)
        self.open = threading.Event()
        self.inside = self.most_inside = self.passed = 0
        self._lock = threading.Lock()

    def pass_through(self) -> None:
        """Wait until the gate is open, or the compilation is abandoned."""
        with self._lock:
            self.inside += 1
            self.most_inside = max(self.inside, self.most_inside)
        self.reached.release()
        try:
            while not self.open.wait(0.005):
                checkpoint()
        finally:
            with self._lock:
                self.inside -= 1
        self.passed += 1

    def wait_for_one(self) -> None:
        """Return when a compilation has come to the gate."""
        assert self.reached.acquire(timeout=60)


def is_in_background() -> bool:
    return threading.current_thread().name == "treadle background compilation"


def wait_until_idle() -> None:
    """Return when no background thread runs any more."""
    tick = threading.Event()
    for _ in range(6000):
        if not THREADS.running:
            return
        tick.wait(0.01)
    pytest.fail("a background thread goes on")


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Hold compilations in the background until the test opens the gate."""
    gate = Gate()
    plain = FunctionMaker.compiled_program

    def held(self: FunctionMaker, lookup: Any = None) -> Any:
        if is_in_background():
            gate.pass_through()
        return plain(self, lookup)

    monkeypatch.setattr(FunctionMaker, "compiled_program", held)
    with config.change_flags(cache__functions=False):
        yield gate
    gate.open.set()
    wait_until_idle()


class Unknown(Op):
    """An op without a rule for C."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        output_storage[0][0] = inputs[0] + 1


# Which tier runs


@pytest.mark.documents("Function.tier", "Function.wait", "FunctionMaker.compiled_program")
@pytest.mark.parametrize("mode", ["C", "CVM", "NUMBA", "JAX", "PYTORCH"])
def test_function_runs_on_the_vm_until_its_program_is_ready(mode: str, gate: Gate) -> None:
    x, total = tt.dvector("x"), shared(0.0, name="total")
    values = np.linspace(0.1, 2.0, 4)
    with config.change_flags(torch__compile=False):
        f = function([x], tt.exp(x).sum() + total, updates={total: total + x.sum()}, mode=mode, tiered=True)
    assert f.tier == "vm"
    np.testing.assert_allclose(f(values), np.exp(values).sum(), rtol=1e-12)
    assert f.tier == "vm"
    gate.open.set()
    assert f.wait() is f
    assert f.tier == mode.lower()
    np.testing.assert_allclose(f(values), np.exp(values).sum() + values.sum(), rtol=1e-12)
    np.testing.assert_allclose(total.get_value(), 2 * values.sum(), rtol=1e-12)


def test_first_tier_has_the_stable_forms(gate: Gate) -> None:
    x = tt.dscalar("x")
    outputs = [tt.log(tt.exp(x)), tt.log(tt.sigmoid(-x))]
    f = function([x], outputs, mode="C", tiered=True)
    first = f(1000.0)
    gate.open.set()
    np.testing.assert_allclose(f.wait()(1000.0), first, rtol=1e-12)
    np.testing.assert_allclose(first, [1000.0, -1000.0])


@pytest.mark.documents("function.tiered", "Mode.tiered", "option:tiered")
def test_tiers_are_asked_for_by_argument_by_mode_and_by_option(gate: Gate) -> None:
    x = tt.dscalar("x")
    assert function([x], x + 1, mode="C", tiered=True).tier == "vm"
    assert function([x], x + 1, mode=get_mode("C").clone(tiered=True)).tier == "vm"
    assert function([x], x + 1, mode=Mode("c", tiered=True)).tier == "vm"
    with config.change_flags(tiered=True):
        assert function([x], x + 1, mode="C").tier == "vm"
        assert function([x], x + 1, mode=Mode("c", tiered=False)).tier == "c"
        assert function([x], x + 1, mode="C", tiered=False).tier == "c"
    assert function([x], x + 1, mode=Mode("c", tiered=True), tiered=False).tier == "c"
    assert gate.passed == 0


@pytest.mark.documents("function_dump.tiered")
def test_dump_of_the_arguments_of_a_function_with_tiers(gate: Gate, tmp_path: Path) -> None:
    x = tt.dscalar("x")
    function_dump(tmp_path / "dump", [x], x + 1, mode="C", tiered=True)
    assert function(**pickle.loads((tmp_path / "dump").read_bytes())).tier == "vm"
    assert gate.passed == 0


def test_mode_with_tiers_is_another_mode_and_pickles() -> None:
    mode = get_mode("C").clone(tiered=True)
    assert mode != get_mode("C")
    assert pickle.loads(pickle.dumps(mode)) == mode
    assert mode.including("strict_ieee").tiered is True
    assert get_mode("C").tiered is None


@pytest.mark.documents("FunctionMaker.tiered")
@pytest.mark.parametrize("make", [partial(function, [], []), partial(Mode, "c"), partial(FunctionMaker, [], [])])
def test_other_values_than_truth_values_are_refused(make: Any) -> None:
    with pytest.raises(GraphTypeError, match="tiered must be True or False"):
        make(tiered="yes")


@pytest.mark.parametrize("mode", ["VM", "FAST_COMPILE", Mode("py")])
def test_function_of_the_vm_has_one_tier(mode: Any) -> None:
    x = tt.dscalar("x")
    f = function([x], x + 1, mode=mode, tiered=True)
    assert f.wait(0).tier == "vm"
    assert isinstance(f.program, VMProgram)
    assert f.maker.tiers is None


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (DebugMode(linker="vm", check_c_code=False), "mode DebugMode: DebugMaker makes its functions"),
        (NanGuardMode(linker="c"), "mode NanGuardMode: it does something at each node"),
        (MonitorMode(linker="c"), "mode MonitorMode: it does something at each node"),
        (get_mode("JAX").clone(link_kwargs={"device_outputs": True}), "outputs are to stay in the backend's own form"),
    ],
)
def test_modes_that_the_vm_cannot_stand_in_for_refuse_tiers_and_ignore_the_option(mode: Mode, reason: str) -> None:
    x = tt.dscalar("x")
    with pytest.raises(FunctionValueError, match=reason):
        function([x], x + 1, mode=mode, tiered=True)
    with pytest.raises(FunctionValueError, match=reason):
        function([x], x + 1, mode=mode.clone(tiered=True))
    with config.change_flags(tiered=True):
        assert function([x], x + 1, mode=mode).maker.tiers is None


def test_function_whose_rewriting_reports_has_one_tier(capsys: pytest.CaptureFixture[str]) -> None:
    x = tt.dscalar("x")
    with config.change_flags(optimizer_verbose=True):
        f = function([x], x * 1 + 0, mode="C", tiered=True)
    assert f.tier == "c"
    assert capsys.readouterr().out


def test_program_in_the_compile_cache_is_used_at_once(tmp_path: Path) -> None:
    x = tt.dvector("x")
    with config.change_flags(compiledir=str(tmp_path)):
        function([x], tt.cos(x) * 3, mode="C")
        for is_forgotten in (False, True):
            if is_forgotten:
                FUNCTIONS.forget()
            f = function([x], tt.cos(x) * 3, mode="C", tiered=True)
            assert f.tier == "c"
            assert f.maker.tiers is None
        f = function([x], tt.cos(x) * 4, mode="C", tiered=True)
        f.wait()
        assert function([x], tt.cos(x) * 4, mode="C", tiered=True).maker.tiers is None
        FUNCTIONS.forget()
        assert function([x], tt.cos(x) * 4, mode="C", tiered=True).maker.tiers is None


# Waiting, failures


def test_wait_ends_after_its_time(gate: Gate) -> None:
    x = tt.dscalar("x")
    f = function([x], x + 1, mode="C", name="slow", tiered=True)
    with pytest.raises(TimeoutError, match=r"slow: not compiled after 0\.01 seconds"):
        f.wait(0.01)
    with pytest.raises(FunctionTypeError, match=r"slow: wait: timeout must be a number of seconds or None, got 'soon'"):
        cast("Any", f).wait("soon")
    gate.open.set()
    assert f.wait(60).tier == "c"


def test_failure_is_told_once_and_raised_by_wait(gate: Gate) -> None:
    x = tt.dvector("x")
    f = function([x], Unknown()(x), mode="C", name="odd", tiered=True)
    assert f([1.0]).tolist() == [2.0]
    gate.open.set()
    wait_until_idle()
    with pytest.warns(FunctionWarning, match="odd: could not be compiled for mode C, and stays.*LoweringError") as told:
        assert f([1.0]).tolist() == [2.0]
    assert told[0].filename == __file__
    assert isinstance(told[0].message, Warning)
    assert isinstance(told[0].message.__cause__, LoweringError)
    assert f([1.0]).tolist() == [2.0]
    assert f.tier == "vm"
    lengths = []
    for _ in range(2):
        with pytest.raises(LoweringError, match="Unknown") as raised:
            f.wait()
        lengths.append(len(raised.traceback))
    assert lengths[0] == lengths[1]


def test_function_stays_on_the_vm_while_no_thread_can_be_started(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        del self
        msg = "can't start new thread"
        raise RuntimeError(msg)

    x = tt.dscalar("x")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        f = function([x], x + 1, mode="C", name="lonely", tiered=True)
        assert float(f(1.0)) == 2.0
        with pytest.raises(FunctionValueError, match="lonely: nothing compiles it in the background"):
            f.wait()
        assert float(f(1.0)) == 2.0
    gate.open.set()
    assert f.wait().tier == "c"


def test_failure_that_wait_has_raised_is_not_told_again(gate: Gate) -> None:
    x = tt.dvector("x")
    f = function([x], Unknown()(x), mode="C", tiered=True)
    gate.open.set()
    with pytest.raises(LoweringError):
        f.wait()
    assert f([1.0]).tolist() == [2.0]


def test_warning_of_a_failure_that_is_an_error_leaves_state_alone(gate: Gate) -> None:
    x, total = tt.dvector("x"), shared(np.zeros(1))
    f = function([x], Unknown()(x), updates={total: total + x}, mode="C", tiered=True)
    gate.open.set()
    wait_until_idle()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FunctionWarning):
            f([1.0])
    assert total.get_value().tolist() == [0.0]
    f([1.0])
    assert total.get_value().tolist() == [1.0]


def test_error_of_a_node_is_the_same_in_both_tiers(gate: Gate) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    f = function([x, y], x + y, mode="C", tiered=True)
    with pytest.raises(NodeError, match="Add") as first:
        f(np.ones(2), np.ones(3))
    gate.open.set()
    with pytest.raises(NodeError, match="Add") as second:
        f.wait()(np.ones(2), np.ones(3))
    assert type(first.value) is type(second.value)


# State


def test_draws_are_those_of_a_function_with_one_tier(gate: Gate) -> None:
    def draws(tiered: bool) -> Any:
        stream = tt.random.RandomStream(5)
        return function([], stream.normal(size=(3,)), mode="C", tiered=tiered)

    expected, f = draws(False), draws(True)
    got = [f() for _ in range(3)]
    gate.open.set()
    f.wait()
    got += [f() for _ in range(3)]
    np.testing.assert_allclose(got, [expected() for _ in range(6)], rtol=1e-12)


def test_parts_that_are_written_pass_from_tier_to_tier(gate: Gate) -> None:
    i, w = tt.lscalar("i"), shared(np.zeros(4))
    f = function([i], w.sum(), updates={w: w[i].inc(1.0)}, mode="C", tiered=True)
    assert [float(f(k)) for k in (0, 1)] == [0.0, 1.0]
    with pytest.raises(NodeError):
        f(9)
    gate.open.set()
    f.wait()
    assert [float(f(k)) for k in (1, 3)] == [2.0, 3.0]
    assert w.get_value().tolist() == [1.0, 2.0, 0.0, 1.0]


def test_value_that_another_backend_left_in_its_own_form_is_read(gate: Gate) -> None:
    x = tt.dvector("x")
    w = shared(np.zeros(2))
    other = function([x], [], updates={w: w + x}, mode="JAX", tiered=False)
    other(np.ones(2))
    f = function([x], w + x, updates={w: w * 2}, mode="JAX", tiered=True)
    assert f(np.ones(2)).tolist() == [2.0, 2.0]
    gate.open.set()
    f.wait()
    other(np.ones(2))
    assert f(np.ones(2)).tolist() == [4.0, 4.0]


@pytest.mark.parametrize("trusted", [False, True])
def test_arguments_in_a_backends_own_form_are_taken_in_both_tiers(trusted: bool, gate: Gate) -> None:
    jnp = pytest.importorskip("jax.numpy")
    x = tt.fvector("x")
    f = function([x], Out(x * 2, borrow=True), mode="JAX", trust_input=trusted, tiered=True)
    value = jnp.ones(3, "float32")
    first = f(value)
    assert isinstance(first, np.ndarray)
    gate.open.set()
    np.testing.assert_array_equal(np.asarray(f.wait()(value)), first)


def test_arguments_that_may_be_overwritten_and_borrowed_results(gate: Gate) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    f = function([In(x, mutable=True), In(y, borrow=True)], [Out(x + 1, borrow=True), y * 2], mode="C", tiered=True)
    for _ in range(2):
        kept = np.arange(3.0)
        results = f(np.zeros(3), kept)
        assert [r.tolist() for r in results] == [[1.0, 1.0, 1.0], [0.0, 2.0, 4.0]]
        assert kept.tolist() == [0.0, 1.0, 2.0]
        gate.open.set()
        f.wait()


def test_what_is_set_in_the_first_tier_stays_set(gate: Gate) -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    f = function([x, In(y, value=1.0)], x + y, mode="C", tiered=True)
    f["y"] = 2.0
    f["x"] = 10.0
    f.trust_input = True
    assert float(f()) == 12.0
    gate.open.set()
    f.wait()
    assert f.trust_input
    assert float(f()) == 12.0
    f["y"] = 3.0
    assert float(f(np.asarray(1.0))) == 4.0


def test_memory_that_the_mode_keeps_between_calls(gate: Gate) -> None:
    x = tt.dvector("x")
    with config.change_flags(allow_gc=False):
        f = function([x], tt.exp(x).sum() * x, mode="C", tiered=True)
    first = [f(np.ones(2) * k) for k in range(3)]
    f.free()
    gate.open.set()
    f.wait()
    np.testing.assert_allclose([f(np.ones(2) * k) for k in range(3)], first, rtol=1e-12)
    f.free()


# What is made of a function


def test_parts_of_the_outputs_and_nested_arguments(gate: Gate) -> None:
    w, x = tt.dvector("w"), tt.dvector("x")
    f = function([{"w": w}, x], {"y": [w * x], "z": w.sum()}, mode="C", tiered=True)
    g = function([w, x], [w * x, w.sum()], mode="C", tiered=True)
    for _ in range(2):
        result = f({"w": [1.0, 2.0]}, [3.0, 4.0])
        assert [result["y"][0].tolist(), float(result["z"])] == [[3.0, 8.0], 3.0]
        assert [float(z) for z in g([1.0, 2.0], [3.0, 4.0], output_subset=[1])] == [3.0]
        gate.open.set()
        assert (f.wait().tier, g.wait().tier) == ("c", "c")


@pytest.mark.documents("Function.take", "Function.caller")
def test_copies_in_the_first_tier_take_the_same_program(gate: Gate) -> None:
    x, a, b = tt.dscalar("x"), shared(1.0, name="a"), shared(10.0, name="b")
    f = function([x], x + a, updates={a: a + 1}, mode="C", tiered=True)
    same, swapped = f.copy(), f.copy(swap={a: b})
    assert [float(g(0.0)) for g in (f, same, swapped)] == [1.0, 2.0, 10.0]
    gate.wait_for_one()
    gate.open.set()
    for g in (f, same, swapped):
        assert g.wait().tier == "c"
    assert same.program is f.program
    assert same.copy().program is f.program
    assert same.maker.report is f.maker.report
    assert [float(g(0.0)) for g in (f, same, swapped)] == [3.0, 4.0, 11.0]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_duplicates_made_in_the_first_tier_have_state_and_tiers_of_their_own(duplicate: Any, gate: Gate) -> None:
    x, a = tt.dscalar("x"), shared(1.0, name="a")
    f = function([x], x + a, updates={a: a + 1}, mode="C", tiered=True)
    f(0.0)
    other = duplicate(f)
    assert other.tier == "vm"
    assert float(f(0.0)) == float(other(0.0)) == 2.0
    gate.open.set()
    assert (f.wait().tier, other.wait().tier) == ("c", "c")
    assert float(f(0.0)) == float(other(0.0)) == 3.0


def test_asking_for_the_rewritten_graph_waits_for_it(gate: Gate, tmp_path: Path) -> None:
    x = tt.dvector("x")
    f = function([x], tt.exp(x) + 1, mode="C", tiered=True)
    threading.Timer(0.02, gate.open.set).start()
    assert len(list(f.fgraph.apply_nodes)) == 1
    assert f.export(tmp_path).exists()
    assert f.wait().tier == "c"


def test_a_notebook_shows_a_function_that_is_being_compiled_without_waiting(gate: Gate) -> None:
    x = tt.dvector("x")
    f = function([x], tt.exp(x) + 1, mode="C", name="g", tiered=True)
    assert f._repr_html_().endswith("on C: on the Python VM, not compiled yet")
    gate.open.set()
    assert "1 node, compiled in" in f.wait()._repr_html_()


def test_profile_has_the_calls_after_the_first_tier(gate: Gate) -> None:
    x = tt.dvector("x")
    f = function([x], tt.exp(x).sum(), mode="C", profile=True, tiered=True)
    f.profile.atexit_print = False
    f(np.ones(2))
    assert f.profile.fct_callcount == 0
    gate.open.set()
    f.wait()
    f(np.ones(2))
    assert f.profile.fct_callcount == 1
    assert f.profile.compile_time > 0
    f.copy()(np.ones(2))
    f.apart()(np.ones(2))
    assert f.profile.fct_callcount == 1


def test_function_apart_has_values_of_its_own_and_the_same_tiers(gate: Gate) -> None:
    total = shared(1.0, name="total")
    f = function([], total, updates={total: total * 2}, mode="C", tiered=True)
    other = f.apart()
    assert [float(other()), float(other()), float(f())] == [1.0, 2.0, 1.0]
    gate.open.set()
    assert (other.wait().tier, f.wait().tier) == ("c", "c")
    assert other.program is f.program
    assert [float(other()), float(f())] == [4.0, 2.0]


def test_library_that_compiles_in_calls_has_done_so_for_the_lengths_of_the_last_call(gate: Gate) -> None:
    x = tt.dvector("x")
    f = function([x], tt.sin(x) * 2, mode="JAX", tiered=True)
    gate.open.set()
    wait_until_idle()
    assert f.tier == "vm"  # nobody has called it yet
    f(np.ones(5))
    wait_until_idle()
    assert f.tier == "jax"
    program: Any = f.program
    assert list(program._compiled._by_shapes) == [((5,),)]
    np.testing.assert_allclose(f(np.ones(5)), np.sin(np.ones(5)) * 2)


# Threads


def test_function_that_nobody_has_any_more_is_not_compiled(gate: Gate) -> None:
    x = tt.dscalar("x")
    f = function([x], x + 1, mode="C", tiered=True)
    gate.wait_for_one()
    del f
    gc.collect()
    wait_until_idle()
    assert gate.passed == 0


@pytest.mark.documents("option:compile__background")
def test_as_many_are_compiled_at_once_as_the_option_says(gate: Gate) -> None:
    x = tt.dscalar("x")
    with config.change_flags(compile__background=1):
        functions = [function([x], x + k, mode="C", tiered=True) for k in range(3)]
    gate.wait_for_one()
    assert THREADS.running == 1
    gate.open.set()
    assert [float(f.wait()(1.0)) for f in functions] == [1.0, 2.0, 3.0]
    assert gate.most_inside == 1


def test_calls_leave_turns_to_the_thread_while_it_compiles(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dscalar("x")
    turns: list[float] = []
    monkeypatch.setattr(tiers, "sleep", turns.append)
    with config.change_flags(compile__background=1):
        f, g = (function([x], x + k, mode="C", tiered=True) for k in range(2))
    gate.wait_for_one()
    g(1.0)  # its compilation waits
    assert turns == []
    f(1.0)
    assert len(turns) == 1
    gate.open.set()
    f.wait()
    count = len(turns)
    f(1.0)
    assert len(turns) == count
