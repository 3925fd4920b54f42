"""Documented parameters and members of `function` and related classes that no other test covers."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    CallError,
    CompileError,
    Function,
    FunctionMaker,
    FunctionTypeError,
    Mode,
    OpFromGraph,
    ProfileStats,
    UnusedInputError,
    evaluate,
    function,
    function_dump,
    get_mode,
    predefined_optimizers,
    rebuild_collect_shared,
    shared,
)
from treadle.config.errors import TreadleError
from treadle.link.c import CLinker
from treadle.link.vm import VMProgram

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# Dumps


@pytest.mark.documents(
    "function_dump.inputs",
    "function_dump.outputs",
    "function_dump.mode",
    "function_dump.updates",
    "function_dump.givens",
    "function_dump.no_default_updates",
    "function_dump.name",
    "function_dump.rebuild_strict",
    "function_dump.allow_input_downcast",
    "function_dump.profile",
    "function_dump.on_unused_input",
    "function_dump.trust_input",
    "F27",
    "F28",
    "F29",
)
def test_every_argument_of_a_dump_does_its_work_in_the_function_made_of_it(tmp_path: Path) -> None:
    x, z, unused = tt.fscalar("x"), tt.dscalar("z"), tt.dscalar("unused")
    state, counter = shared(0.0, name="state"), shared(10.0, name="counter")
    counter.default_update = counter + 1
    function_dump(
        tmp_path / "dump",
        [x, unused],
        [tt.exp(z), counter],
        mode="FAST_COMPILE",
        updates={state: state + 1},
        givens={z: x + 1},
        no_default_updates=True,
        name="dumped",
        rebuild_strict=False,
        allow_input_downcast=True,
        profile=ProfileStats(atexit_print=False, message="in the dump"),
        on_unused_input="ignore",
        trust_input=True,
    )
    f = function(**pickle.loads((tmp_path / "dump").read_bytes()))
    assert (f.name, str(f.maker.mode), f.trust_input) == ("dumped", "FAST_COMPILE", True)
    assert (f.profile.message, f.profile.fct_callcount) == ("in the dump", 0)
    f.trust_input = False
    raised, count = f(0.1, 0.0)
    # The variable of another type changed the type of the result, and 0.1 is not a float32.
    assert raised.dtype == np.float32
    assert [float(raised), float(count)] == pytest.approx([np.exp(1.1), 10.0])
    assert [float(f[name]) for name in ("state", "counter")] == [1.0, 10.0]


@pytest.mark.documents("function_dump.accept_inplace", "FunctionMaker.accept_inplace")
@pytest.mark.parametrize("accept", [True, False])
def test_dump_and_maker_pass_on_whether_graphs_may_overwrite_inputs(accept: bool, tmp_path: Path) -> None:
    x = tt.dvector("x")
    out = tt.exp.inplace_on_inputs([0])(x)
    function_dump(tmp_path / "dump", [x], out, mode="VM", accept_inplace=accept)
    arguments = pickle.loads((tmp_path / "dump").read_bytes())
    makers: list[Callable[[], Any]] = [lambda: function(**arguments)]
    makers.append(FunctionMaker([x], out, mode="VM", accept_inplace=accept).create)
    for make in makers:
        if accept:
            assert make()([0.0]).tolist() == [1.0]
            continue
        with pytest.raises(FunctionTypeError, match="which overwrites its input"):
            make()


# Shared variables


@pytest.mark.documents("shared.name", "shared.allow_downcast", "SharedVariable.allow_downcast")
def test_shared_variable_takes_a_name_and_the_rule_for_its_values() -> None:
    exact = np.array([0.1])
    loose = shared(np.zeros(1, "float32"), "loose", allow_downcast=True)
    plain = shared(np.zeros(1, "float32"), "plain")
    assert (loose.name, loose.allow_downcast, plain.name, plain.allow_downcast) == ("loose", True, "plain", None)
    loose.set_value(exact)
    assert loose.get_value().dtype == np.float32
    with pytest.raises(TypeError, match="would lose precision"):
        plain.set_value(exact)
    # The rule is kept by clones, and holds where a function gives the value too.
    loose.clone().set_value(exact * 2)
    assert function([], loose * 1, mode="VM")() == np.float32(0.2)


# FunctionMaker


@pytest.mark.documents("FunctionMaker.profile", "FunctionMaker.on_unused_input", "F22", "F23")
def test_maker_takes_a_profile_and_what_to_do_about_unused_inputs() -> None:
    x, unused = tt.dscalar("x"), tt.dscalar("unused")
    stats = ProfileStats(atexit_print=False)
    maker = FunctionMaker([x, unused], x + 1, mode="VM", profile=stats, on_unused_input="ignore")
    assert maker.profile is stats
    assert maker.create()(1.0, 0.0) == 2.0
    assert stats.fct_callcount == 1
    with pytest.raises(UnusedInputError, match="input 1, unused of type"):
        FunctionMaker([x, unused], x + 1, mode="VM", on_unused_input="raise")


@pytest.mark.documents("FunctionMaker.compile", "FunctionMaker.source_line", "P21")
def test_maker_compiles_a_program_and_knows_the_users_line() -> None:
    x = tt.dvector("x")
    maker = FunctionMaker([x], [x * 2], mode="VM")
    program = maker.compile()
    assert isinstance(program, VMProgram)
    assert [v.tolist() for v in program(np.ones(2))] == [[2.0, 2.0]]
    assert maker.source_line is not None
    assert (maker.source_line.file, maker.source_line.text) == (
        __file__,
        'maker = FunctionMaker([x], [x * 2], mode="VM")',
    )
    f = maker.create()
    assert isinstance(f, Function)
    assert f.source_line == maker.source_line


@pytest.mark.documents("Function.program", "Function.signature", "Function.vm", "P21", "P22")
def test_program_computes_outputs_and_new_values_and_the_call_writes_them_back() -> None:
    x, state = tt.dscalar("x"), shared(10.0)
    f = function([x], x * 2, updates={state: state + x}, mode="VM", name="f")
    assert [float(v) for v in f.program(np.array(1.0), np.array(10.0))] == [2.0, 11.0]
    assert state.get_value() == 10.0
    assert (f(1.0), state.get_value()) == (2.0, 11.0)
    assert [item.name for item in f.signature.inputs] == ["x"]
    assert str(f.signature) == "f(x: Scalar(float64))"


@pytest.mark.documents("Function.free")
def test_memory_that_a_program_keeps_for_the_next_call_is_given_back() -> None:
    x = tt.dmatrix("x")
    f = function([x], tt.sum(tt.sqr(tt.exp(x)).T + 1, axis=0), mode=Mode(CLinker(allow_gc=False), None))
    program: Any = f.program
    data = np.zeros((300, 300))
    counts = []
    for _ in range(3):
        counts.append(program.counted(data)[1].made)
        if len(counts) == 2:
            f.free()
    # Blocks are made, kept, and made again.
    assert [count > 0 for count in counts] == [True, False, True]
    np.testing.assert_array_equal(f(data), np.full(300, 600.0))


# rebuild_collect_shared


@pytest.mark.documents("rebuild_collect_shared.rebuild_strict", "rebuild_collect_shared.no_default_updates", "P2")
def test_rebuilding_keeps_types_and_makes_default_updates_unless_told_otherwise() -> None:
    x, y, state = tt.dscalar("x"), tt.fscalar("y"), shared(1.0)
    state.default_update = state + 1
    with pytest.raises(TypeError, match=r"got y of type Scalar\(float32\)"):
        rebuild_collect_shared(tt.exp(x), [y], replace={x: y})
    _, out, _ = rebuild_collect_shared(tt.exp(x), [y], replace={x: y}, rebuild_strict=False)
    assert out.type.dtype == "float32"
    for excluded, wanted in ((False, [state]), (True, []), ([state], [])):
        _, _, (_, new_values, _, _) = rebuild_collect_shared(state * 2, [], no_default_updates=excluded)
        assert list(new_values) == wanted


@pytest.mark.documents("rebuild_collect_shared.clone_inner_graphs")
@pytest.mark.parametrize("cloned", [None, False, True])
def test_ops_with_an_inner_graph_are_copied_on_demand(cloned: bool | None) -> None:
    x, z = tt.dscalar("x"), tt.dscalar("z")
    op = OpFromGraph([x], [x * x])
    _, out, _ = rebuild_collect_shared(op(z), [z], clone_inner_graphs=cloned)
    assert (out.owner.op is op) is not bool(cloned)
    assert function([z], out, mode="VM")(3.0) == 9.0


# What evaluates, and errors


@pytest.mark.documents("evaluate")
def test_evaluate_is_what_variables_call() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    assert evaluate(x - y, {x: 3.0, "y": 1.0}, "VM") == (x - y).eval({x: 3.0, "y": 1.0}, mode="VM") == 2.0
    exact = np.array(0.1)
    z = tt.fscalar("z")
    assert evaluate(z, {z: exact}, "VM", allow_input_downcast=True).dtype == np.float32


@pytest.mark.documents("error:CompileError")
def test_errors_of_making_functions_are_caught_together_and_as_pythons_own() -> None:
    x = tt.dscalar("x")
    wrong: list[tuple[Callable[[], Any], type[Exception]]] = [
        (lambda: function(x, x), TypeError),
        (lambda: function([x], x, on_unused_input="maybe"), ValueError),
        (lambda: function([x], []), ValueError),
        (lambda: function([x], x, mode="nosuch"), ValueError),
        (lambda: predefined_optimizers["nosuch"], KeyError),
        (lambda: setattr(get_mode("VM"), "name", "x"), AttributeError),
    ]
    for make, plain in wrong:
        for kind in (CompileError, TreadleError, plain):
            with pytest.raises(kind):
                make()
    # Calls may raise other errors.
    with pytest.raises(CallError) as caught:
        function([x], x, mode="VM")()
    assert not isinstance(caught.value, CompileError)
