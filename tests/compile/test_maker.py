"""FunctionMaker: the single steps from expressions to a function."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    Function,
    FunctionMaker,
    FunctionTypeError,
    FunctionValueError,
    In,
    Mode,
    Out,
    SymbolicInput,
    SymbolicOutput,
    function,
    rebuild_collect_shared,
    shared,
)
from treadle.compile.functions import replacements, specification
from treadle.config import config
from treadle.graph import FunctionGraph, PreserveVariableAttributes, Supervisor, clone_replace
from treadle.link.vm import Program


@pytest.mark.documents(
    "FunctionMaker",
    "FunctionMaker.create",
    "SymbolicInput",
    "SymbolicOutput",
    "FunctionMaker.inputs",
    "FunctionMaker.outputs",
    "FunctionMaker.mode",
    "FunctionMaker.name",
    "P4",
)
def test_maker_takes_inputs_and_outputs_as_function_does() -> None:
    x, n = tt.dvector("x"), tt.dscalar("n")
    maker = FunctionMaker([x, SymbolicInput(n, value=2.0)], SymbolicOutput(x * n), mode="VM", name="f")
    f = maker.create()
    assert isinstance(f, Function)
    assert (f.maker is maker, f.name) == (True, "f")
    assert f(np.ones(2)).tolist() == [2.0, 2.0]
    assert FunctionMaker([x], [x + 1], mode="VM").create()([1.0])[0].tolist() == [2.0]


@pytest.mark.documents(
    "FunctionMaker.create_fgraph", "FunctionMaker.specification", "Specification", "Supervisor", "P5", "P9"
)
def test_graph_before_rewriting_has_updates_and_features() -> None:
    x, n, state = tt.dscalar("x"), tt.dscalar("n"), shared(0.0)
    maker = FunctionMaker(specified([In(x, mutable=True), In(n, value=0.0, update=n + 1)], state + x, state), mode="VM")
    fgraph = maker.create_fgraph()
    assert len(fgraph.outputs) == 3
    assert fgraph.update_mapping == {1: 2, 2: 1}
    assert x not in fgraph.inputs
    (supervisor,) = (f for f in fgraph.features if isinstance(f, Supervisor))
    assert supervisor.protected == fgraph.inputs[1:]
    assert any(isinstance(f, PreserveVariableAttributes) for f in fgraph.features)


def specified(inputs: Any, output: Any, state: Any) -> Any:
    return function(inputs, output, updates={state: state + 2}, mode="VM").maker.specification


@pytest.mark.documents("FunctionMaker.prepare_fgraph", "FunctionMaker.link", "P7", "P8")
def test_steps_can_be_taken_one_by_one() -> None:
    x = tt.dvector("x")
    maker = FunctionMaker([x], [x + 0, x * 2], mode="VM")
    fgraph = maker.create_fgraph()
    report = maker.prepare_fgraph(fgraph)
    program = maker.link(fgraph)
    assert isinstance(program, Program)
    assert report is not None
    assert [v.tolist() for v in program(np.ones(2))] == [[1.0, 1.0], [2.0, 2.0]]


class Noting(FunctionMaker):
    """Records the steps."""

    steps: list[str]

    def create_fgraph(self) -> FunctionGraph:
        self.steps = ["graph"]
        return super().create_fgraph()

    def prepare_fgraph(self, fgraph: FunctionGraph) -> Any:
        self.steps.append(f"rewrite with floatX {config.floatX}")
        return super().prepare_fgraph(fgraph)

    def link(self, fgraph: FunctionGraph) -> Program:
        self.steps.append("link")
        return super().link(fgraph)


class NotingMode(Mode):
    """Names the maker."""

    @property
    def function_maker(self) -> Any:
        return Noting


@pytest.mark.documents("Mode.function_maker", "FunctionMaker.options", "P3")
def test_mode_may_name_another_maker_whose_steps_run_under_the_functions_options() -> None:
    x = tt.dvector("x")
    with config.change_flags(floatX="float32"):
        maker = Noting([x], [x * 2], mode=NotingMode("vm"))
    assert maker.create()(np.ones(1))[0] == 2.0
    assert maker.steps == ["graph", "rewrite with floatX float32", "link"]
    f = function([x], x * 2, mode=NotingMode("vm"))
    assert isinstance(f.maker, Noting)


@pytest.mark.documents("FunctionMaker.fgraph", "P6")
def test_users_own_graph_is_completed_with_updates() -> None:
    x, n = tt.dscalar("x"), tt.dscalar("n")
    total = x + n
    fgraph = FunctionGraph([x, n], [total], clone=False)
    maker = FunctionMaker([x, In(n, value=1.0, update=n + 1)], [total], mode="VM", fgraph=fgraph)
    f = maker.create()
    assert [f(1.0), f(1.0)] == [[2.0], [3.0]]
    assert maker.fgraph is fgraph
    assert fgraph.update_mapping == {1: 1}
    with pytest.raises(FunctionValueError, match="the graph given is not one from"):
        FunctionMaker([x], [x], mode="VM", fgraph=FunctionGraph([n], [n], clone=False)).create()


def test_names_and_tags_are_kept_by_rewriting() -> None:
    x = tt.dvector("x")
    y = x * 1 * 2
    y.name = "doubled"
    f = function([x], tt.exp(y), mode="VM")
    assert "doubled" in {v.name for v in f.maker.fgraph.variables}


@pytest.mark.documents("FunctionMaker.trust_input")
def test_maker_pickles_with_what_it_was_given() -> None:
    x = tt.dvector("x")
    maker = FunctionMaker([x], [x * 2], mode="VM", name="f", trust_input=True)
    loaded = pickle.loads(pickle.dumps(maker))
    assert (loaded.name, loaded.trust_input, loaded.mode) == ("f", True, maker.mode)
    assert loaded.create()(np.ones(1))[0] == 2.0


@pytest.mark.documents("P4")
def test_pair_among_the_inputs_is_refused_with_advice() -> None:
    x = tt.dscalar("x")
    for make in (lambda: FunctionMaker([(x, x + 1)], [x]), lambda: function([(x, x + 1)], x)):
        with pytest.raises(
            FunctionTypeError, match=r"got the pair or list \(x, .*\)\. .* write In\(variable, value=..."
        ):
            make()


@pytest.mark.documents(
    "rebuild_collect_shared",
    "rebuild_collect_shared.outputs",
    "rebuild_collect_shared.inputs",
    "rebuild_collect_shared.replace",
    "rebuild_collect_shared.updates",
    "rebuild_collect_shared.copy_inputs_over",
    "P2",
)
def test_expressions_are_rebuilt_and_their_shared_variables_collected() -> None:
    x, y, state, other = tt.dscalar("x"), tt.dscalar("y"), shared(1.0), shared(2.0)
    other.default_update = other + 1
    ins, out, (memo, new_values, pairs, collected) = rebuild_collect_shared(
        y * other, [x], replace={y: x + 1}, updates={state: state + y}
    )
    assert ins == [x]
    assert list(new_values) == [state, other]
    assert [var for var, _ in pairs] == [state, other]
    assert set(collected) == {state, other}
    assert memo[y] is not y
    assert function(ins, [out, pairs[0][1]], mode="VM", no_default_updates=True)(2.0) == [6.0, 4.0]
    copied, several, _ = rebuild_collect_shared([x + 1, Out(x, borrow=True)], [x], copy_inputs_over=False)
    assert copied[0] is not x
    assert [type(v) for v in several] == [type(x), Out]
    assert several[1].variable is copied[0]


def test_long_graphs_pass_through_every_step() -> None:
    x, state = tt.dscalar("x"), shared(0.0)
    y: Any = x
    for _ in range(3000):
        y = tt.sin(y)
    f = function([x], y, updates={state: state + y}, mode=Mode("vm", None))
    twin = pickle.loads(pickle.dumps(f))
    assert f.copy()(1.0) == f.copy(swap={state: shared(1.0)})(1.0) == twin(1.0)
    assert f(1.0, output_subset=[0]) == [twin(1.0)]
    assert clone_replace(y, {x: y}) is not y


def test_order_of_updates_is_looked_for_only_where_there_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []
    shared_in = replacements.shared_in

    def counted(*args: Any) -> Any:
        searches.append(args)
        return shared_in(*args)

    for module in (replacements, specification):
        monkeypatch.setattr(module, "shared_in", counted)
    x, state = tt.dscalar("x"), shared(1.0)
    specification.specify([x], x * state)
    assert len(searches) == 2
    first, second = shared(0.0), shared(0.0)
    updates = specification.specify([x], second * first * x, updates={first: x, second: x + 1}).updates
    assert [update[0] for update in updates] == [second.container, first.container]
