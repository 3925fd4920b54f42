"""Profiles of functions: what they count, and that functions without one pay nothing."""

import copy
import io
import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.compile.errors import FunctionTypeError
from treadle.compile.mode.backends import BACKENDS
from treadle.compile.monitormode import MonitorMode
from treadle.compile.profiling import ProfileStats
from treadle.compile.profiling.programs import TimedProgram
from treadle.compile.profiling.registry import Registry
from treadle.config import config
from treadle.graph import IfElse, NodeError, shared
from treadle.link.vm import VMProgram

CALLS = 5


def quiet(**settings: Any) -> ProfileStats:
    return ProfileStats(atexit_print=False, **settings)


def text_of(stats: ProfileStats, **flags: Any) -> str:
    out = io.StringIO()
    with config.change_flags(**flags):
        stats.summary(out)
    return out.getvalue()


def working_backends() -> list[str]:
    backends = {name: BACKENDS.load(name) for name in BACKENDS.names()}
    return [name for name, backend in backends.items() if backend is not None and backend.unavailable() is None]


needs_c = pytest.mark.skipif("c" not in working_backends(), reason="there is no C compiler on this machine")


def chain(n: int = 3) -> tuple[Any, Any]:
    x = tt.dmatrix("x")
    out = x
    for _ in range(n):
        out = tt.tanh(out) @ x
    return x, out


@pytest.mark.documents("function.profile", "Function.profile", "option:profile")
def test_function_without_a_profile_has_none() -> None:
    x, out = chain()
    assert function([x], out, mode="VM").profile is None
    with config.change_flags(profile=True):
        assert function([x], out, mode="VM", profile=False).profile is None


@pytest.mark.documents("function.profile", "profile_for", "F22", "F19")
def test_profile_is_made_given_or_named_by_a_title() -> None:
    x, out = chain()
    assert isinstance(function([x], out, mode="VM", profile=True, name="mine").profile, ProfileStats)
    assert function([x], out, mode="VM", profile="a title").profile.title == "a title"
    stats = quiet()
    assert function([x], out, mode="VM", profile=stats).profile is stats
    with config.change_flags(profile=True):
        assert function([x], out, mode="VM", name="by option").profile.title == "by option"


@pytest.mark.documents("profile_for")
def test_profile_of_another_kind_is_refused() -> None:
    x, out = chain()
    with pytest.raises(FunctionTypeError, match=r"profile must be True, False, None, a title or a ProfileStats, got 3"):
        function([x], out, mode="VM", profile=3)


@pytest.mark.documents("instrumented")
def test_function_without_a_profile_runs_the_same_code_as_if_there_were_no_profiler() -> None:
    x, out = chain()
    plain, measured = function([x], out, mode="VM", profile=False), function([x], out, mode="VM", profile=quiet())
    assert not isinstance(plain.program, TimedProgram)
    assert isinstance(measured.program, TimedProgram)
    # The caller of the function with a profile is the same code, with a timer around it.
    cells = measured.__call__.__closure__ or ()
    inner = next(cell.cell_contents for cell in cells if getattr(cell.cell_contents, "__name__", "") == "call")
    assert plain.__call__.__code__.co_code == inner.__code__.co_code
    assert plain.__call__.__code__.co_filename == "<treadle call>"


@pytest.mark.documents(
    "ProfileStats.fct_callcount",
    "ProfileStats.apply_callcount",
    "ProfileStats.apply_time",
    "ProfileStats.fct_call_time",
    "ProfileStats.vm_call_time",
)
def test_calls_and_nodes_are_counted() -> None:
    x, out = chain(4)
    stats = quiet()
    f = function([x], out, mode="VM", profile=stats)
    for _ in range(CALLS):
        f(np.ones((30, 30)))
    assert stats.fct_callcount == CALLS
    assert set(stats.apply_callcount.values()) == {CALLS}
    assert {node for _, node in stats.apply_callcount} == set(f.maker.fgraph.apply_nodes)
    assert all(seconds > 0 for seconds in stats.apply_time.values())
    assert sum(stats.apply_time.values()) <= stats.vm_call_time <= stats.fct_call_time


def test_function_with_a_profile_computes_the_same() -> None:
    state = shared(np.zeros(3), "state")
    x = tt.dvector("x")
    stats = quiet(flag_memory=True)
    f = function([x], {"sum": x.sum(), "old": state * 1}, updates={state: state + x}, mode="VM", profile=stats)
    results = [f([1.0, 2.0, 3.0]) for _ in range(3)]
    assert [float(r["sum"]) for r in results] == [6.0, 6.0, 6.0]
    assert results[2]["old"].tolist() == [2.0, 4.0, 6.0]
    assert state.get_value().tolist() == [3.0, 6.0, 9.0]


@pytest.mark.documents(
    "ProfileStats.class_time",
    "ProfileStats.class_callcount",
    "ProfileStats.class_nodes",
    "ProfileStats.class_impl",
    "ProfileStats.op_time",
    "ProfileStats.op_callcount",
    "ProfileStats.op_nodes",
    "ProfileStats.op_impl",
)
def test_times_are_summed_by_op_and_by_class() -> None:
    x, out = chain(3)
    stats = quiet()
    f = function([x], out, mode="VM", profile=stats)
    f(np.ones((3, 3)))
    f(np.ones((3, 3)))
    matmul = next(n.op for n in f.maker.fgraph.apply_nodes if "MatMul" in str(n.op))
    assert stats.op_nodes()[matmul] == stats.class_nodes()[type(matmul)] == 3
    assert stats.op_callcount()[matmul] == stats.class_callcount()[type(matmul)] == 6
    assert stats.op_impl()[matmul] == stats.class_impl()[type(matmul)] == "py"
    by_node = sum(s for (_, node), s in stats.apply_time.items() if node.op == matmul)
    assert stats.op_time()[matmul] == pytest.approx(by_node) == pytest.approx(stats.class_time()[type(matmul)])
    assert sum(stats.class_time().values()) == pytest.approx(sum(stats.op_time().values()))


@pytest.mark.documents(
    "ProfileStats.compile_time",
    "ProfileStats.rewriter_time",
    "ProfileStats.linker_time",
    "ProfileStats.nb_nodes",
    "ProfileStats.rewriter_profile",
    "ProfileStats.merge_time",
    "FunctionMaker.report",
)
def test_phases_of_the_compilation_are_timed() -> None:
    x, out = chain(3)
    stats = quiet()
    f = function([x], out + 0, mode="VM", profile=stats)
    assert 0 < stats.rewriter_time < stats.compile_time
    assert 0 < stats.linker_time < stats.compile_time
    assert stats.rewriter_time + stats.linker_time < stats.compile_time
    assert stats.nb_nodes == len(f.maker.fgraph)
    assert stats.rewriter_profile is f.maker.report
    assert 0 <= stats.merge_time < stats.rewriter_time
    text = text_of(stats)
    for name in ("graph", "rewriting", "canonicalize", "linking"):
        assert f" {name}: " in text


@pytest.mark.documents("option:profile_optimizer")
def test_rewrites_are_listed_with_their_costs_if_asked_for() -> None:
    x = tt.dvector("x")
    stats = quiet()
    function([x], tt.log(tt.exp(x)) * 1, mode="VM", profile=stats)
    assert len(text_of(stats).partition("Rewrites\n")[2].partition("\n\n")[0].splitlines()) == 8
    text = text_of(stats, profile_optimizer=True).partition("Rewrites\n")[2].partition("\n\n")[0]
    assert stats.rewriter_profile is not None
    tried = {name for name, cost in stats.rewriter_profile.rules.items() if cost.tries or cost.hits}
    assert {line.split()[-1] for line in text.splitlines()[2:]} == tried
    assert 5 < len(tried) <= 50


@pytest.mark.documents("option:profiling__time_thunks", "ProfileStats.flag_time_thunks")
def test_whole_calls_alone_are_timed_on_the_compiled_program() -> None:
    x, out = chain()
    for stats, flags in ((quiet(flag_time_thunks=False), {}), (quiet(), {"profiling__time_thunks": False})):
        with config.change_flags(**flags):
            f = function([x], out, mode="VM", profile=stats)
        f(np.ones((3, 3)))
        assert stats.fct_callcount == 1
        assert stats.vm_call_time > 0
        assert stats.apply_time == {}
        assert isinstance(f.program, TimedProgram)
        assert isinstance(f.program.program, VMProgram)  # the program itself, reached through the timer


@pytest.mark.documents("option:profiling__ignore_first_call", "ProfileStats.ignore_first_call")
def test_first_call_of_each_function_can_be_left_out() -> None:
    x, out = chain()
    stats = quiet(ignore_first_call=True)
    f, g = (function([x], out * k, mode="VM", profile=stats) for k in (2, 3))
    for compiled, calls in ((f, 3), (g, 1)):
        for _ in range(calls):
            compiled(np.ones((2, 2)))
    assert stats.fct_callcount == 2
    assert {count for (graph, _), count in stats.apply_callcount.items() if graph is f.maker.fgraph} == {2}
    assert not [1 for graph, _ in stats.apply_callcount if graph is g.maker.fgraph]
    with config.change_flags(profiling__ignore_first_call=True):
        h = function([x], out, mode="VM", profile=quiet())
    h(np.ones((2, 2)))
    assert h.profile.fct_callcount == 0


def test_call_that_fails_is_not_counted() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    stats = quiet()
    f = function([x, y], tt.exp(x) + y, mode="VM", profile=stats)
    with pytest.raises(NodeError, match="test_profiling"):
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    assert stats.fct_callcount == 0
    f([1.0, 2.0], [1.0, 2.0])
    assert stats.fct_callcount == 1
    assert [stats.op_callcount()[op] for op in stats.op_callcount() if "dd" in str(op)] == [1]


def test_mode_that_acts_at_nodes_keeps_doing_so() -> None:
    seen: list[str] = []
    x = tt.dvector("x")
    watching = MonitorMode(post_func=lambda *arguments: seen.append(str(arguments[2].op)))
    stats = quiet()
    f = function([x], tt.exp(x) + 1, mode=watching, profile=stats)
    f([1.0])
    count = len(f.maker.fgraph)
    assert len(seen) == count
    assert (stats.fct_callcount, stats.apply_time) == (1, {})
    assert "does something at each by itself" in text_of(stats)
    g = function([x], tt.log(x), mode="NanGuardMode", profile=quiet())
    with pytest.raises(AssertionError):
        g([-1.0])


def test_only_nodes_of_the_branch_taken_are_counted() -> None:
    x, c = tt.dvector("x"), tt.bscalar("c")
    stats = quiet()
    f = function([c, x], IfElse(1)(c, tt.exp(x), tt.cosh(x)), mode="VM", profile=stats)
    for flag in (1, 1, 0):
        f(flag, [1.0])
    counts = {str(op): count for op, count in stats.op_callcount().items()}
    assert counts["Exp"] == 2
    assert counts["Cosh"] == 1


@pytest.mark.documents("Function.copy.profile", "F49")
def test_copy_has_the_profile_it_is_given() -> None:
    x, out = chain()
    f = function([x], out, mode="VM", profile=quiet())
    f(np.ones((2, 2)))
    stats = quiet()
    g = f.copy(profile=stats)
    g(np.ones((2, 2)))
    g(np.ones((2, 2)))
    assert (f.profile.fct_callcount, stats.fct_callcount) == (1, 2)
    assert set(stats.apply_callcount.values()) == {2}
    assert f.copy().profile is copy.copy(f).profile is None
    assert not isinstance(f.copy().program, TimedProgram)


def test_pickled_function_comes_back_with_an_empty_profile_of_the_same_settings() -> None:
    x, out = chain()
    f = function([x], out, mode="VM", profile=quiet(message="mine", flag_memory=True, ignore_first_call=True))
    f(np.ones((2, 2)))
    g = pickle.loads(pickle.dumps(f))
    assert g.profile is not f.profile
    assert (g.profile.title, g.profile.flag_memory, g.profile.atexit_print) == ("mine", True, False)
    for _ in range(2):
        g(np.ones((2, 2)))
    assert g.profile.fct_callcount == 1
    with config.change_flags(profile=True):
        plain = function([x], out, mode="VM", profile=False)
    assert pickle.loads(pickle.dumps(plain)).profile is None


def test_profile_pickles_with_its_numbers() -> None:
    x, out = chain()
    stats = quiet(flag_memory=True)
    f = function([x], out, mode="VM", profile=stats)
    for _ in range(CALLS):
        f(np.ones((2, 2)))
    other = pickle.loads(pickle.dumps(stats))
    assert other.fct_callcount == CALLS
    assert sorted(other.apply_callcount.values()) == sorted(stats.apply_callcount.values())
    assert text_of(other) == text_of(stats)


@pytest.mark.documents("ProfileStats.reset")
def test_reset_forgets_calls_and_keeps_compilations() -> None:
    x, out = chain()
    stats = quiet(flag_memory=True)
    f = function([x], out, mode="VM", profile=stats)
    f(np.ones((2, 2)))
    before = stats.compile_time
    stats.reset()
    assert (stats.fct_callcount, stats.fct_call_time, stats.apply_time) == (0, 0, {})
    assert stats.memory() == []
    assert stats.compile_time == before
    f(np.ones((2, 2)))
    assert stats.fct_callcount == 1


def test_counts_are_exact_when_many_threads_call() -> None:
    x = tt.dvector("x")
    stats = quiet()
    f = function([x], tt.exp(x) + 1, mode="VM", profile=stats)
    threads, calls = 16, 200
    start = threading.Barrier(threads)

    def work() -> None:
        start.wait()
        for _ in range(calls):
            f([1.0, 2.0])

    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert stats.fct_callcount == threads * calls
    assert set(stats.apply_callcount.values()) == {threads * calls}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forked_process_prints_its_own_profiles_only() -> None:
    program = """
import os
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
x = tt.dvector("x")
def run_profiled(name):
    function([x], tt.exp(x), mode="VM", name=name, profile=True)(np.ones(2))
run_profiled("parent's")
if os.fork() == 0:
    run_profiled("child's")
else:
    os.wait()
"""
    printed = in_new_process(program).stderr
    assert printed.count("Message: parent's") == printed.count("Message: child's") == 1


def test_only_one_of_several_first_calls_is_left_out() -> None:
    x = tt.dvector("x")
    stats = quiet(ignore_first_call=True)
    f = function([x], tt.exp(x), mode="VM", profile=stats)
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        f([1.0])

    running = [threading.Thread(target=work) for _ in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert stats.fct_callcount == 7


def quick(name: str) -> dict[str, bool]:
    # PyTorch's compiler takes half a minute to start; the uncompiled program is one program too.
    return {"torch__compile": False} if name == "pytorch" else {}


def summing(name: str, stats: ProfileStats) -> Any:
    """Return a function of an exponential that adds its argument to a shared variable and returns the state before."""
    state = shared(np.zeros(2), "state")
    x = tt.dvector("x")
    with config.change_flags(**quick(name)):
        return function([x], [tt.exp(x), state], updates={state: state + x}, mode=name.upper(), profile=stats)


@pytest.mark.parametrize("name", working_backends())
def test_nodes_are_timed_and_state_is_updated_on_every_backend(name: str) -> None:
    stats = quiet(flag_memory=True)
    f = summing(name, stats)
    results = [f([0.0, 1.0]) for _ in range(4)]
    np.testing.assert_allclose([powers for powers, _ in results], [[1.0, np.e]] * 4, rtol=1e-12)
    assert [list(state) for _, state in results] == [[0.0, k] for k in range(4)]
    assert stats.fct_callcount == 4
    assert set(stats.apply_callcount.values()) == {4}
    assert {node for _, node in stats.apply_time} == set(f.maker.fgraph.apply_nodes)
    text = text_of(stats)
    assert "test_profiling.py" in text
    assert ("ran in segments" in text) is (name != "vm")
    if name != "vm":
        assert name in stats.class_impl().values()


@pytest.mark.parametrize("name", working_backends())
def test_whole_programs_are_timed_and_state_is_updated_on_every_backend(name: str) -> None:
    stats = quiet(flag_time_thunks=False)
    f = summing(name, stats)
    assert [list(f([0.0, 1.0])[1]) for _ in range(3)] == [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    assert stats.fct_callcount == 3
    assert 0 < stats.vm_call_time <= stats.fct_call_time
    assert stats.apply_time == {}
    assert "ran in segments" not in text_of(stats)


@needs_c
def test_compiled_program_is_compared_with_its_segments() -> None:
    x = tt.dvector("x")
    stats = quiet()
    f = function([x], tt.exp(x).sum(), mode="C", profile=stats)
    for _ in range(9):
        f(np.ones(5))
    assert stats.records[0].whole_program.count == 2  # calls 4 and 8
    assert "the whole program was run 2 times" in text_of(stats)
    assert stats.fct_callcount == 9


@pytest.mark.documents(
    "ProfileStats.compiler_time",
    "ProfileStats.code_generation_time",
    "ProfileStats.cache_hits",
    "ProfileStats.cache_misses",
)
@needs_c
def test_phases_of_a_backend_and_its_cache_are_reported(tmp_path: Path) -> None:
    x = tt.dvector("x")
    with config.change_flags(base_compiledir=tmp_path):
        first, second = quiet(flag_time_thunks=False), quiet(flag_time_thunks=False)
        for stats in (first, second):
            function([x], tt.exp(x * 3).sum(), mode="C", profile=stats)
    assert first.compiler_time > 0
    assert first.code_generation_time > 0
    assert first.cache_misses > 0
    assert second.compiler_time == 0
    assert second.cache_hits > 0
    assert "compiler: " in text_of(first)


def test_subset_of_the_outputs_counts_as_one_call() -> None:
    x = tt.dvector("x")
    stats = quiet()
    f = function([x], [tt.exp(x), tt.cosh(x)], mode="VM", profile=stats)
    (result,) = f([0.0], output_subset=[1])
    assert result.tolist() == [1.0]
    assert stats.fct_callcount == 1
    assert {str(op) for op in stats.op_callcount()} == {"Cosh"}


def test_long_chain_is_profiled() -> None:
    x = tt.dscalar("x")
    out = x
    for k in range(1000):
        out = tt.sin(out) if k % 2 else tt.cos(out)
    stats = quiet(flag_memory=True)
    f = function([x], out, mode="VM", profile=stats)
    f(0.5)
    assert len(stats.apply_time) == len(f.maker.fgraph)
    text = text_of(stats, profiling__min_peak_memory=True, profiling__min_memory_size=0)
    assert "further nodes" in text


def in_new_process(program: str, **flags: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TREADLE_FLAGS": ",".join(f"{k}={v}" for k, v in flags.items())}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, timeout=120
    )


PROGRAM = """
import gc
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
x = tt.dvector("x")
def call_often(name, out):
    f = function([x], out, mode="VM", name=name)
    for _ in range(3):
        f(np.ones(4))
call_often("first", tt.exp(x))
call_often("second", tt.cosh(x) + 1)
function([x], x * 2, mode="VM", name="never called")
gc.collect()
print("done")
"""


@pytest.mark.documents("option:profile", "option:profiling__destination", "ProfileStats.atexit_print")
def test_profiles_are_printed_at_exit_though_their_functions_are_gone() -> None:
    done = in_new_process(PROGRAM, profile="True", profiling__destination="stdout")
    assert done.stderr == ""
    printed = done.stdout
    assert printed.startswith("done\n")
    assert printed.count("Function profiling\n") == 3
    assert "Message: first" in printed
    assert "Message: second" in printed
    assert "Sum of the 2 profiles printed at exit" in printed
    assert "never called" not in printed
    assert "Time in 6 calls" in printed


@pytest.mark.documents("option:profiling__destination", "option:profiling__trace")
def test_profiles_and_the_trace_of_all_functions_go_to_files_at_exit(tmp_path: Path) -> None:
    file, trace = tmp_path / "profile.txt", tmp_path / "trace.json"
    file.write_text("what was there before\n")
    done = in_new_process(PROGRAM, profile="True", profiling__destination=str(file), profiling__trace=str(trace))
    assert (done.stdout, done.stderr) == ("done\n", "")
    assert file.read_text().startswith("Function profiling\n")
    assert file.read_text().count("Function profiling\n") == 3
    functions = {event["args"].get("function") for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"first", "second"} <= functions


def test_destination_that_cannot_be_written_is_reported_and_stderr_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere, registry = tmp_path / "missing" / "file", Registry()
    monkeypatch.setattr("treadle.compile.profiling.stats.REGISTRY", registry)
    at_exit: list[Any] = []
    monkeypatch.setattr("atexit.register", at_exit.append)
    x = tt.dvector("x")
    with config.change_flags(profiling__destination=str(nowhere), profiling__trace=f"{nowhere}.json"):
        function([x], tt.exp(x), mode="VM", profile=True)([1.0])
    (finish,) = at_exit
    finish()
    printed = capsys.readouterr().err
    assert f"profile: {nowhere} cannot be written" in printed
    assert printed.count("Function profiling\n") == 1
    assert f"the trace {nowhere}.json cannot be written" in printed


@pytest.mark.documents("option:print_global_stats")
def test_global_statistics_are_printed_at_exit() -> None:
    done = in_new_process(PROGRAM, print_global_stats="True")
    assert "Global stats: 3 functions, 6 calls" in done.stderr
    assert "compiling" in done.stderr
    assert "Function profiling" not in done.stderr


def test_nothing_is_printed_at_exit_without_profiles() -> None:
    done = in_new_process(PROGRAM)
    assert (done.stdout, done.stderr) == ("done\n", "")
