"""DebugMode on rewriting, whole programs, choices and inner graphs."""

import itertools
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Function, function, shared
from treadle.compile.debugmode import (
    BadDestroyMap,
    BadOptimization,
    BadThunkOutput,
    DebugMode,
    DebugModeError,
    InvalidValueError,
    StochasticOrder,
)
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, HasInnerGraph, IfElse, Op, Variable
from treadle.link.vm import Backend, Program
from treadle.rewrite import EquilibriumDB, GraphRewriter, RewriteDatabaseQuery, optdb
from treadle.surface.rewriters import node_rewriter
from treadle.surface.thunks import VMLinker


def python_only(**options: Any) -> DebugMode:
    return DebugMode(**{"linker": "vm", "check_c_code": False, "stability_patience": 1, **options})


def with_rule(rule: Callable[[FunctionGraph, Apply], Any], **options: Any) -> DebugMode:
    """Return a mode that runs one rule, named as the function."""
    database = EquilibriumDB()
    database.register(rule.__name__, node_rewriter(None)(rule), "all")
    return python_only(optimizer=database.query("+all"), **options)


# Wrong rules


@pytest.mark.parametrize("kind", ["perform", "make_thunk"])
def test_failing_node_names_the_rewrite_that_made_it(kind: str) -> None:
    class Failing(Op):
        __props__ = ()

        def make_node(self, *inputs: Any) -> Apply:
            return Apply(self, inputs, [inputs[0].type()])

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            msg = "no"
            raise ValueError(msg)

    class FailingThunk(Failing):
        def make_thunk(self, *args: Any, **kwargs: Any) -> Any:
            msg = "no"
            raise ValueError(msg)

    def insert_failing(_: FunctionGraph, node: Any) -> Any:
        return [(Failing if kind == "perform" else FailingThunk)()(*node.inputs)] if node.op == tt.exp else None

    a = tt.dvector("a")
    out = tt.exp(a)
    with pytest.raises(ValueError, match="no") as caught:
        function([a], out, mode=with_rule(insert_failing))([1.0])
    message = "\n".join((str(caught.value), *getattr(caught.value, "__notes__", ())))
    assert "out = tt.exp(a)" in message
    assert "made by the rewrite 'insert_failing'" in message


@pytest.mark.documents("error:BadOptimization", "DebugMode.optimizer")
def test_rule_that_changes_a_value_is_named() -> None:
    def insert_broken_add(_: FunctionGraph, node: Any) -> Any:
        if node.op == tt.add and not hasattr(node.tag, "broken"):
            total = node.inputs[0] + node.inputs[1] + 0.25
            total.owner.tag.broken = total.owner.inputs[0].owner.tag.broken = True
            return [total]
        return False

    a, b = tt.dvector("a"), tt.dvector("b")
    f = function([a, b], a + b, mode=with_rule(insert_broken_add))
    with pytest.raises(BadOptimization, match="rule insert_broken_add: it replaced") as caught:
        f([1.0, 2.0], [3.0, 4.0])
    error = caught.value
    assert str(error.reason) == "insert_broken_add"
    assert error.old_r_val.tolist() == [4.0, 6.0]
    assert error.new_r_val.tolist() == [4.25, 6.25]
    for part in ("0.25", "2 of 2 elements", "(2,)", "test_debugmode_rewriting.py", "Before:\nAdd"):
        assert part in str(error)


def test_rule_that_is_wrong_for_some_values_is_found_when_they_come() -> None:
    def drop_abs(_: FunctionGraph, node: Any) -> Any:
        return [node.inputs[0]] if node.op == tt.abs else None

    x = tt.dvector("x")
    f = function([x], tt.abs(x) * 2, mode=with_rule(drop_abs))
    assert f([1.0, 2.0]).tolist() == [2.0, 4.0]
    with pytest.raises(BadOptimization, match="drop_abs"):
        f([1.0, -2.0])


def test_first_wrong_rule_of_several_is_named() -> None:
    def right_rule(_: FunctionGraph, node: Any) -> Any:
        return [node.inputs[0] * 2] if node.op == tt.add and node.inputs[0] is node.inputs[1] else None

    def wrong_rule(_: FunctionGraph, node: Any) -> Any:
        return [tt.cos(node.inputs[0])] if node.op == tt.sin else None

    database = EquilibriumDB()
    for rule in (right_rule, wrong_rule):
        database.register(rule.__name__, node_rewriter(None)(rule), "all")
    x = tt.dvector("x")
    f = function([x], tt.exp(tt.sin(x) + tt.sin(x)), mode=python_only(optimizer=database.query("+all")))
    with pytest.raises(BadOptimization) as caught:
        f([1.0])
    assert caught.value.reason == "wrong_rule"


@pytest.fixture
def shifted_sine() -> Iterator[str]:
    """Put a wrong rule into the database of all modes until the test ends; return its name."""

    def shifted(_: FunctionGraph, node: Any) -> Any:
        return [tt.cos(node.inputs[0])] if node.op == tt.sin else None

    database = optdb["canonicalize"]
    database.register("shifted_sine", node_rewriter([tt.sin])(shifted), "fast_run")
    yield "shifted_sine"
    del database._entries["shifted_sine"]
    database._changed()


def test_rule_in_the_database_that_all_modes_use_is_found(shifted_sine: str) -> None:
    x = tt.dvector("x")
    f = function([x], tt.sin(x) * 3 + 1, mode=python_only(stability_patience=2))
    with pytest.raises(BadOptimization, match=f"rule {shifted_sine}"):
        f([1.0])
    without = function([x], tt.sin(x), mode=python_only().excluding(shifted_sine))
    np.testing.assert_allclose(without([1.0]), np.sin([1.0]))


def test_pass_over_the_whole_graph_is_named_without_a_reason() -> None:
    class Halving(GraphRewriter):
        def apply(self, fgraph: FunctionGraph) -> None:
            for node in fgraph.toposort():
                if node.op == tt.exp:
                    fgraph.replace(node.outputs[0], tt.exp(node.inputs[0] / 2))  # type: ignore[operator]  # a tensor

    x = tt.dvector("x")
    f = function([x], tt.exp(x), mode=python_only(optimizer=Halving()))
    with pytest.raises(BadOptimization, match="rule Halving"):
        f([1.0])


def test_stable_forms_of_what_overflows_are_not_a_fault() -> None:
    x = tt.dvector("x")
    f = function([x], tt.log(1 + tt.exp(x)), mode=python_only())
    np.testing.assert_allclose(f([1.0, 1000.0]), [np.log1p(np.e), 1000.0])


def test_wrong_op_is_not_blamed_on_the_rule_that_removes_it() -> None:
    x = tt.dvector("x")
    perform = type(tt.exp).perform

    def wrong(self: Any, node: Any, inputs: Any, output_storage: Any) -> None:
        perform(self, node, inputs, output_storage)
        if self == tt.exp:
            output_storage[0][0] = output_storage[0][0] + 0.5

    def undo(_: FunctionGraph, node: Any) -> Any:
        inner = node.inputs[0].owner
        return [inner.inputs[0]] if node.op == tt.log and inner is not None and inner.op == tt.exp else None

    database = EquilibriumDB()
    database.register("undo", node_rewriter(None)(undo), "all")
    mode = DebugMode(database.query("+all"), linker="vm", stability_patience=1, check_c_code=True)
    f = function([x], tt.log(tt.exp(x)), mode=mode)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tt.exp), "perform", wrong)
        with pytest.raises(BadThunkOutput, match=r"[Ee]xp"):
            f([1.0])


@pytest.mark.documents("error:StochasticOrder", "DebugMode.stability_patience")
def test_rule_that_acts_every_other_time_is_found() -> None:
    turns = itertools.cycle([True, False])

    def moody(_: FunctionGraph, node: Any) -> Any:
        if node.op == tt.add and next(turns):
            return [node.inputs[1] - (-node.inputs[0])]
        return None

    a, b = tt.dvector("a"), tt.dvector("b")
    with pytest.raises(StochasticOrder, match=r"(?s)run 2 .*moody.*test_debugmode_rewriting\.py"):
        function([a, b], a + b, mode=with_rule(moody, stability_patience=3))


def test_equal_graphs_that_are_reached_in_another_order_are_told_apart() -> None:
    runs = itertools.count()

    class Shuffled(GraphRewriter):
        def apply(self, fgraph: FunctionGraph) -> None:
            nodes = [n for n in fgraph.toposort() if n.op == tt.sin]
            for node in nodes if next(runs) % 2 else reversed(nodes):
                x: Any = node.inputs[0]
                fgraph.replace(node.outputs[0], -tt.sin(-x), reason="shuffled")

    a, b = tt.dvector("a"), tt.dvector("b")
    with pytest.raises(StochasticOrder, match="shuffled"):
        function([a, b], tt.sin(a) * tt.sin(b * 2), mode=python_only(optimizer=Shuffled(), stability_patience=2))


# Wrong programs


def _nothing(_: list[Any], __: Sequence[Any]) -> None:
    """Without a fault."""


class Planted(VMLinker):
    """A linker with a fault that no single node shows."""

    def __init__(self, fault: Callable[[list[Any], Sequence[Any]], Any]) -> None:
        super().__init__()
        self.fault = fault

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Any:
        return Faulty(super().link(fgraph), self.fault if len(fgraph.toposort()) > 1 else _nothing)


class Faulty(Program):
    def __init__(self, program: Program, fault: Callable[[list[Any], Sequence[Any]], Any]) -> None:
        self.program = program
        self.fault = fault

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        results = list(self.program(*inputs))
        self.fault(results, inputs)
        return results


def faulty_function(fault: Callable[[list[Any], Sequence[Any]], Any]) -> Function:
    x, y = tt.dvector("x"), tt.dvector("y")
    backend = Backend(name="planted", linker=lambda: Planted(fault), exclude=("fusion",))
    outputs = [tt.sin(x) * 2 + y, tt.cos(y) * 3]
    return function([x, y], outputs, mode=DebugMode(linker=backend, check_c_code=False, stability_patience=1))


def test_program_that_is_wrong_only_as_a_whole_is_found() -> None:
    def off(results: list[Any], _: Sequence[Any]) -> None:
        results[0][0] += 0.5

    message = r"(?s)the whole program of backend planted.*first call.*begin to be wrong with Mul"
    with pytest.raises(BadThunkOutput, match=message):
        faulty_function(off)([1.0, 2.0], [3.0, 4.0])


def test_program_that_is_wrong_from_its_second_call_on_is_found() -> None:
    calls = itertools.count()

    def stale(results: list[Any], _: Sequence[Any]) -> None:
        if next(calls):
            results[1][:] = 0.0

    with pytest.raises(BadThunkOutput, match="its second call"):
        faulty_function(stale)([1.0, 2.0], [3.0, 4.0])


def test_program_that_uses_a_result_again_is_found() -> None:
    kept: list[Any] = []

    def reuse(results: list[Any], _: Sequence[Any]) -> None:
        if kept:
            kept[0][:] = -1.0
        kept.append(results[0])

    with pytest.raises(BadThunkOutput, match="overwrote the first one's result"):
        faulty_function(reuse)([1.0, 2.0], [3.0, 4.0])


def test_program_that_overwrites_an_argument_is_found() -> None:
    def scribble(_: list[Any], inputs: Sequence[Any]) -> None:
        inputs[1][0] = 0.0

    with pytest.raises(DebugModeError, match="overwrote its input y"):
        faulty_function(scribble)([1.0, 2.0], [3.0, 4.0])


def test_program_whose_results_share_memory_is_found() -> None:
    def one_block(results: list[Any], _: Sequence[Any]) -> None:
        block = np.concatenate(results)
        results[0], results[1] = block[:2], block[2:]
        wide = np.stack([results[0], results[1]], axis=1)
        results[0], results[1] = wide[:, 0], wide[:, 1]

    with pytest.raises(DebugModeError, match="share memory"):
        faulty_function(one_block)([1.0, 2.0], [3.0, 4.0])


def test_program_whose_result_is_an_argument_is_found() -> None:
    def hand_back(results: list[Any], inputs: Sequence[Any]) -> None:
        results[0] = inputs[0]  # which happens to have the same value in this call

    with pytest.raises(DebugModeError, match="a result shares memory with its input x"):
        faulty_function(hand_back)([0.0, 0.0], [0.0, 0.0])


def test_program_that_fails_where_its_nodes_do_not_is_found() -> None:
    def fail(_: list[Any], __: Sequence[Any]) -> None:
        msg = "out of paper"
        raise OSError(msg)

    with pytest.raises(BadThunkOutput, match="fails where its nodes do not: out of paper"):
        faulty_function(fail)([1.0, 2.0], [3.0, 4.0])


# Choices and inner graphs


class Counting(Op):
    """The square of a vector, counted."""

    itypes, otypes = [tt.dvector], [tt.dvector]

    def __init__(self) -> None:
        self.runs = 0

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        self.runs += 1
        output_storage[0][0] = inputs[0] ** 2


def test_only_the_branch_taken_runs() -> None:
    one, other = Counting(), Counting()
    c, x = tt.scalar("c", dtype="int8"), tt.dvector("x")
    f = function([c, x], IfElse(1)(c, one(x) + 1, tt.log(other(x))), mode=python_only())
    assert f(1, [-2.0, 0.0]).tolist() == [5.0, 1.0]
    assert (one.runs > 0, other.runs) == (True, 0)
    with pytest.raises(InvalidValueError, match=r"[Ll]og"):
        f(0, [-2.0, 0.0])


def test_wrong_op_in_the_branch_taken_is_found() -> None:
    class Scribbles(Op):
        itypes, otypes = [tt.dvector], [tt.dvector]

        def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
            inputs[0][:] = 0.0
            output_storage[0][0] = inputs[0] + 1

    c, x = tt.scalar("c", dtype="int8"), tt.dvector("x")
    f = function([c, x], IfElse(1)(c, Scribbles()(x), x * 2), mode=python_only())
    assert f(0, [1.0]).tolist() == [2.0]
    with pytest.raises(BadDestroyMap):
        f(1, [1.0])


class Inner(Op, HasInnerGraph):
    """A graph as one op."""

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        self._fgraph = FunctionGraph(list(inputs), list(outputs), clone=True)

    @property
    def fgraph(self) -> FunctionGraph:
        return self._fgraph

    @property
    def inner_inputs(self) -> list[Variable]:
        return list(self._fgraph.inputs)

    @property
    def inner_outputs(self) -> list[Variable]:
        return list(self._fgraph.outputs)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [out.type() for out in self._fgraph.outputs])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        for cell, value in zip(output_storage, self.fn(*inputs), strict=True):
            cell[0] = value


def test_nodes_of_inner_graphs_are_checked_at_any_depth() -> None:
    class Leaks(Op):
        itypes, otypes = [tt.dvector], [tt.dvector]

        def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = inputs[0][:]

    x = tt.dvector("x")
    right = Inner([x], [tt.exp(x) * 2])
    assert function([x], right(x) + 1, mode=python_only())([0.0]).tolist() == [3.0]
    deep = Inner([x], [Inner([x], [Leaks()(x + 1)])(x * 2)])
    with pytest.raises(DebugModeError, match="shares the memory") as caught:
        function([x], deep(x), mode=python_only())([0.0])
    assert sum("It happened inside Inner" in note for note in caught.value.__notes__) == 2


# State and size


def test_shared_variables_are_as_before_when_a_rule_is_wrong() -> None:
    def halve(_: FunctionGraph, node: Any) -> Any:
        return [node.inputs[0] * 0.5] if node.op == tt.exp else None

    x = tt.dvector("x")
    state = shared(np.ones(1), "state")
    f = function([x], state * 1.0, updates={state: state + tt.exp(x)}, mode=with_rule(halve))
    with pytest.raises(BadOptimization):
        f([1.0])
    assert state.get_value().tolist() == [1.0]


def test_a_model_of_a_hundred_nodes_is_checked() -> None:
    x = tt.dvector("x")
    y: Any = x
    for _ in range(34):
        y = tt.tanh(y + 0.1) * (x - 0.5)
    f = function([x], y, mode=DebugMode(optimizer="fast_compile", linker="vm", stability_patience=2))
    expected = argument = np.linspace(-1, 1, 5)
    for _ in range(34):
        expected = np.tanh(expected + 0.1) * (argument - 0.5)
    np.testing.assert_allclose(f(argument), expected)


def test_long_chains_and_wide_sums_pass() -> None:
    x = tt.dscalar("x")
    y: Any = x
    for _ in range(1500):
        y = y + 1
    assert function([x], y, mode=python_only(optimizer=None))(0.0) == 1500.0
    wide: Any = x * 0.0
    for k in range(1, 300):
        wide = wide + x * float(k)
    assert function([x], wide, mode=python_only(optimizer=None))(1.0) == sum(range(300))


# The memory of C programs


@pytest.fixture
def careless_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let C overwrite every operand, needed later or not."""

    def always(self: Any, var: Variable, _: Sequence[Variable]) -> bool:
        return var not in self.fgraph.inputs

    monkeypatch.setattr("treadle.link.c.text.unit.Unit.dying", always)


@pytest.mark.usefixtures("careless_c")
def test_memory_that_c_uses_again_too_early_is_found() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    shared_part = x * y
    left, right = tt.exp(shared_part), tt.sin(shared_part)
    mode = DebugMode(RewriteDatabaseQuery(include=()), linker="c", stability_patience=1)
    f = function([x, y], [left + right, shared_part], mode=mode)
    with pytest.raises(DebugModeError, match="the whole program of backend c"):
        f([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])


@pytest.mark.parametrize("optimizer", [None, "fast_run"])
def test_wrong_text_of_a_kernel_is_found_alone_and_fused(monkeypatch: pytest.MonkeyPatch, optimizer: Any) -> None:
    from treadle.link.c.assembly import Assembly

    write = Assembly.source

    def with_a_wrong_sign(self: Any, *args: Any, **options: Any) -> Any:
        source = write(self, *args, **options)
        return replace(source, text=re.sub(r"= \(double\)\((\w+) - (\w+)\);", r"= (double)(\1 + \2);", source.text))

    monkeypatch.setattr(Assembly, "source", with_a_wrong_sign)
    x, y = tt.dvector("x"), tt.dvector("y")
    f = function([x, y], x * y - 1 / (y + 3), mode=DebugMode(optimizer, linker="cvm", stability_patience=1))
    name = "Composite" if optimizer else "Sub"
    with pytest.raises(BadThunkOutput, match=rf"computed by {name}.* backend c"):
        f([1.0, 2.0], [3.0, 4.0])


def test_op_from_graph_is_checked_inside() -> None:
    class Leaks(Op):
        itypes, otypes = [tt.dvector], [tt.dvector]

        def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = inputs[0][:]

    x, y = tt.dvector("x"), tt.dvector("y")
    right = tt.OpFromGraph([x, y], [tt.exp(x) * y + x], name="right")
    f = function([x, y], [right(x, y), tt.grad(right(x, y).sum(), x)], mode=python_only())
    assert [v.tolist() for v in f([0.0], [2.0])] == [[2.0], [3.0]]
    wrong = tt.OpFromGraph([x], [Leaks()(x * 2)], name="wrong")
    with pytest.raises(DebugModeError, match=r"Leaks.*shares the memory") as caught:
        function([x], wrong(x) + 1, mode=python_only(optimizer=None))([0.0])
    assert any("wrong" in note for note in caught.value.__notes__)


@pytest.mark.documents("mode:DEBUG_MODE")
def test_named_modes_check_too() -> None:
    x = tt.dvector("x")
    with config.change_flags(DebugMode__check_c=False, DebugMode__patience=1, linker="vm"):
        f = function([x], tt.log(x), mode="DebugMode")
        with pytest.warns(DeprecationWarning, match="DEBUG_MODE"):
            g = function([x], tt.log(x), mode="DEBUG_MODE")
    for checked in (f, g):
        assert checked([1.0]).tolist() == [0.0]
        with pytest.raises(InvalidValueError):
            checked([-1.0])


def test_one_function_may_be_called_from_many_threads() -> None:
    x = tt.dvector("x")
    total = shared(np.zeros(1), "total")
    step = tt.exp(x * 0.0)
    f = function([x], x * 2 + 1, updates={total: total + step}, mode=python_only(check_preallocated_output="ALL"))
    wrong: list[Any] = []

    def work(k: int) -> None:
        wrong.extend(r for _ in range(10) if (r := f([float(k)])).tolist() != [2.0 * k + 1])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert total.get_value().tolist() == [60.0]
