"""Linkers and what they make: thunks, containers, storage; linkers written from the documentation."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.graph.arithmetic import add, inverse, mul, number
from treadle.compile import Mode, function, predefined_linkers, shared
from treadle.config import config
from treadle.graph import (
    Apply,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    IfElse,
    MethodNotDefinedError,
    NodeArithmeticError,
    Op,
    Variable,
)
from treadle.link.vm import Backend, NodewiseLinker, ProgramLinker, VMProgram
from treadle.link.vm.utils import (
    fgraph_to_python,
    gc_helper,
    streamline,
)
from treadle.surface.thunks import (
    VM,
    Container,
    JITLinker,
    Linker,
    LocalLinker,
    Loop,
    PerformLinker,
    Stack,
    ThunkProgram,
    UpdatingVM,
    VMLinker,
    WrapLinker,
    WrapLinkerMany,
    map_storage,
)

STEPPED = [PerformLinker, VMLinker]


class Documented(Linker):
    """A linker that has accept and make_thunk, as the documentation says, and nothing else."""

    def accept(self, fgraph: FunctionGraph, no_recycling: Any = None, profile: Any = None) -> "Documented":
        self.fgraph = fgraph
        self.no_recycling = no_recycling or []
        return self

    def make_thunk(
        self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None, **_: Any
    ) -> Any:
        assert self.fgraph is not None
        order = self.schedule(self.fgraph)
        ins, outs, storage = map_storage(self.fgraph, order, input_storage, output_storage, storage_map)
        thunks = [node.op.make_thunk(node, storage, None, self.no_recycling) for node in order]

        def run() -> None:
            for thunk in thunks:
                thunk()

        variables_and_cells = zip(self.fgraph.inputs, ins, strict=True), zip(self.fgraph.outputs, outs, strict=True)
        return run, *([Container(var, cell) for var, cell in pairs] for pairs in variables_and_cells)


class Local(LocalLinker):
    """A linker that has make_all, for which `streamline` and `gc_helper` exist."""

    def make_all(self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None, **_: Any) -> Any:
        fgraph = self.fgraph
        assert fgraph is not None
        order = self.schedule(fgraph)
        ins, outs, storage = map_storage(fgraph, order, input_storage, output_storage, storage_map)
        thunks = [node.op.make_thunk(node, storage, None, self.no_recycling, "py") for node in order]
        computed, last_user = gc_helper(order)
        dead = [
            [storage[v] for v in node.inputs if v in computed and v not in fgraph.outputs and last_user[v] is node]
            for node in order
        ]
        run = streamline(fgraph, thunks, order, dead, [storage[v] for v in self.no_recycling])
        inputs = [Container(v, c) for v, c in zip(fgraph.inputs, ins, strict=True)]
        outputs = [Container(v, c) for v, c in zip(fgraph.outputs, outs, strict=True)]
        return run, inputs, outputs, thunks, order


def run_all(_fgraph: FunctionGraph, _i: int, _node: Apply, *thunks: Callable[[], Any]) -> None:
    for thunk in thunks:
        thunk()


LINKERS: dict[str, Callable[[], ProgramLinker]] = {
    "accept and make_thunk": Documented,
    "make_all": Local,
    "perform": PerformLinker,
    "vm": VMLinker,
    "vm, no gc": lambda: VMLinker(allow_gc=False),
    "vm with a callback": lambda: VMLinker(callback=lambda **_: None),
    "vm with a schedule": lambda: VMLinker(schedule=lambda fgraph: list(fgraph.toposort())),
    "perform with a schedule": lambda: PerformLinker(schedule=lambda fgraph: list(fgraph.toposort())),
    "wrapped": lambda: WrapLinker([VMLinker(), PerformLinker()], run_all),
    "wrapped many times": lambda: WrapLinkerMany([PerformLinker()], [run_all]),
    "nodewise": NodewiseLinker,
}
every_linker = pytest.mark.parametrize("make", LINKERS.values(), ids=LINKERS)


# In functions


@every_linker
@pytest.mark.documents("Mode.linker", "Linker.accept", "Linker.make_thunk", "LocalLinker")
def test_linker_makes_functions(make: Callable[[], ProgramLinker]) -> None:
    x, y, state = tt.dvector("x"), tt.dscalar("y"), shared(np.zeros(3))
    f = function([x, y], [tt.exp(x) * y + state, x, x, tt.sum(x)], updates={state: state + x}, mode=Mode(make()))
    first, second = f(np.ones(3), 2.0), f(np.ones(3), 2.0)
    np.testing.assert_allclose(first[0], 2 * np.e * np.ones(3))
    np.testing.assert_allclose(second[0], 2 * np.e + np.ones(3))
    assert state.get_value().tolist() == [2.0, 2.0, 2.0]


@every_linker
def test_results_are_the_callers_own(make: Callable[[], ProgramLinker]) -> None:
    x = tt.dmatrix("x")
    f = function([x], [x.T, x + 1, (x + 1).T, x], mode=Mode(make(), None))
    argument = np.ones((2, 3))
    results = f(argument)
    for result in results:
        result[...] = -1.0
    assert argument.tolist() == [[1.0] * 3] * 2
    again = f(argument)
    assert [float(r.sum()) for r in again] == [6.0, 12.0, 12.0, 6.0]
    assert [float(r.sum()) for r in results] == [-6.0] * 4


@every_linker
def test_error_of_a_node_names_the_op_and_leaves_the_function_usable(make: Callable[[], ProgramLinker]) -> None:
    x, state = tt.dvector("x"), shared(np.zeros(2))
    f = function([x], x[5], updates={state: state + 1}, mode=Mode(make()))
    with pytest.raises(IndexError, match=r"test_linkers.py"):
        f(np.ones(2))
    assert state.get_value().tolist() == [0.0, 0.0]
    assert float(f(np.arange(6.0))) == 5.0


@every_linker
def test_linker_class_is_a_linker_too(make: Callable[[], ProgramLinker]) -> None:
    kind = type(make())
    if kind in {WrapLinker, WrapLinkerMany}:
        return
    x = tt.dscalar("x")
    assert float(function([x], x * 3, mode=Mode(kind))(2.0)) == 6.0


def test_calls_from_many_threads_have_cells_of_their_own() -> None:
    waiting = threading.Barrier(4)
    main = threading.get_ident()

    class Meeting(Op):
        __props__ = ()

        def make_node(self, x: Variable) -> Apply:
            return Apply(self, [x], [x.type()])

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            if threading.get_ident() != main:
                waiting.wait(timeout=30)
            output_storage[0][0] = inputs[0] + 1

    x = tt.dscalar("x")
    f = function([x], Meeting()(x * 2), mode=Mode(Documented(), None))
    results: dict[int, float] = {}
    threads = [threading.Thread(target=lambda i=i: results.update({i: float(f(float(i)))})) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: 1.0, 1: 3.0, 2: 5.0, 3: 7.0}


def test_function_may_be_called_while_it_runs() -> None:
    calls: list[float] = []

    def tell(**_: Any) -> None:
        if len(calls) < 3:
            calls.append(0.0)
            calls.append(float(f(10.0)))

    x = tt.dscalar("x")
    f = function([x], x * 2 + 1, mode=Mode(VMLinker(callback=tell), None))
    assert float(f(1.0)) == 3.0
    assert set(calls[1:]) <= {0.0, 21.0}


def test_linker_that_implements_nothing_says_what_it_needs() -> None:
    class Empty(Linker):
        pass

    class EmptyLocal(LocalLinker):
        pass

    x = tt.dscalar("x")
    with pytest.raises(MethodNotDefinedError, match=r"Empty: a linker must implement link\(fgraph\), make_thunk"):
        function([x], x + 1, mode=Mode(Empty()))
    with pytest.raises(MethodNotDefinedError, match="EmptyLocal: a LocalLinker must implement make_all"):
        function([x], x + 1, mode=Mode(EmptyLocal()))


def test_thunk_that_is_not_a_triple_is_refused() -> None:
    class Wrong(Linker):
        answer: Any = None

        def make_thunk(self, *args: Any, **kwargs: Any) -> Any:
            return self.answer

    x, linker = tt.dscalar("x"), Wrong()
    with pytest.raises(GraphTypeError, match="must return a thunk, the input containers and the output containers"):
        linker.link(FunctionGraph([x], [x + 1]))
    linker.answer = (print, [[None], [None]], [[None]])
    with pytest.raises(GraphValueError, match="1 input containers are needed, one for each input of the graph, got 2"):
        linker.link(FunctionGraph([x], [x + 1]))


def test_subclass_that_changes_thunks_of_a_linker_is_run_through_them() -> None:
    seen: list[int] = []

    class Counting(PerformLinker):
        def make_all(self, *args: Any, **kwargs: Any) -> Any:
            thunks = super().make_all(*args, **kwargs)
            seen.append(len(thunks[3]))
            return thunks

    x = tt.dscalar("x")
    f = function([x], x * 2 + 1, mode=Mode(Counting(), None))
    assert isinstance(f.program, ThunkProgram)
    assert float(f(1.0)) == 3.0
    assert seen == [len(f.fgraph)]


# Thunks


@pytest.mark.parametrize("name", ["py", "vm", "c|py", "numba"])
@pytest.mark.documents("Linker.make_thunk", "Linker.make_all", "P11")
def test_thunk_takes_values_from_containers_and_puts_results_there(name: str) -> None:
    x, y = tt.dvector("x"), tt.dscalar("y")
    named: Any = predefined_linkers[name]
    linker = named.accept(FunctionGraph([x, y], [tt.exp(x) * y, y]))
    thunk, (x_box, y_box), (product, same) = linker.make_thunk()
    x_box.data, y_box.data = [0.0, 0.0], 3
    thunk()
    assert (product.data.tolist(), float(same.data)) == ([3.0, 3.0], 3.0)
    run, ins, outs, thunks, order = named.accept(FunctionGraph([x, y], [tt.exp(x) * y])).make_all()
    assert len(thunks) == len(order) > 0
    ins[0].value, ins[1].value = np.zeros(2), 4.0
    run()
    assert outs[0].value.tolist() == [4.0, 4.0]


@pytest.mark.documents("Linker.schedule", "P12")
@pytest.mark.parametrize("kind", STEPPED)
def test_thunks_work_on_the_storage_that_is_given(kind: Callable[[], Linker]) -> None:
    x = number("x")
    y = inverse(x)
    fgraph = FunctionGraph([x], [add(y, y)], clone=False)
    into: list[Any] = [4.0]
    out_of: list[Any] = [None]
    middle: list[Any] = [None]
    machine, _, _, thunks, order = kind().accept(fgraph).make_all([into], [out_of], {y: middle})
    for thunk in thunks:
        thunk()
    assert (middle, out_of) == ([0.25], [0.5])
    assert [thunk.inputs[0] is cell for thunk, cell in zip(thunks, (into, middle), strict=True)] == [True, True]
    assert order == list(fgraph.toposort())
    assert isinstance(machine, VM)


def test_storage_must_fit_the_graph() -> None:
    x = number("x")
    linker = PerformLinker().accept(FunctionGraph([x], [inverse(x)], clone=False))
    with pytest.raises(GraphValueError, match="input_storage: 1 cells are needed, one for each input, got 2"):
        linker.make_thunk([[None], [None]])
    with pytest.raises(GraphValueError, match="x has another cell in storage_map"):
        linker.make_thunk([[None]], None, {x: [None]})
    with pytest.raises(GraphValueError, match="it has no graph yet"):
        PerformLinker().make_thunk()
    with pytest.raises(GraphTypeError, match="a FunctionGraph is needed, got 3"):
        PerformLinker().accept(3)  # type: ignore[arg-type]


def test_linker_with_a_graph_accepts_another_one_as_a_copy() -> None:
    x = number("x")
    first, second = FunctionGraph([x], [inverse(x)]), FunctionGraph([x], [add(x, x)])
    linker = VMLinker(allow_gc=False)
    assert linker.accept(first) is linker
    other = linker.accept(second)
    assert (other is linker, linker.fgraph, other.fgraph, other.allow_gc) == (False, first, second, False)
    clone = linker.clone(allow_gc=True)
    assert (clone.fgraph, clone.allow_gc, linker.allow_gc) == (None, True, False)


@pytest.mark.parametrize("kind", STEPPED)
@pytest.mark.parametrize("allow_gc", [True, False])
@pytest.mark.documents("option:allow_gc", "VMLinker.allow_gc", "PerformLinker.allow_gc", "Linker.allow_gc")
def test_values_between_nodes_are_freed_unless_they_are_to_be_kept(kind: Any, allow_gc: bool) -> None:
    x = number("x")
    y = inverse(x)
    storage: dict[Variable, list[Any]] = {}
    fgraph = FunctionGraph([x], [add(y, y)], clone=False)
    thunk, (into,), (out,) = kind(allow_gc=allow_gc).accept(fgraph).make_thunk(None, None, storage)
    into.data = 4.0
    thunk()
    assert (storage[y][0], out.data) == (None if allow_gc else 0.25, 0.5)
    with config.change_flags(allow_gc=allow_gc):
        machine = kind().accept(FunctionGraph([x], [inverse(x)])).make_thunk()[0]
    assert machine.allow_gc is allow_gc


@pytest.mark.documents("Linker.no_recycling", "P16")
def test_cells_of_values_that_must_last_are_emptied_before_each_call() -> None:
    class Recycling(Op):
        """Adds one, into the storage it finds."""

        __props__ = ()

        def make_node(self, x: Variable) -> Apply:
            return Apply(self, [x], [x.type()])

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            cell = output_storage[0]
            if cell[0] is None:
                cell[0] = np.empty_like(inputs[0])
            np.add(inputs[0], 1, out=cell[0])

    x = tt.dvector("x")
    out = Recycling()(x)
    for lasting in (True, False):
        fgraph = FunctionGraph([x], [out], clone=False)
        linker = PerformLinker(allow_gc=False).accept(fgraph, no_recycling=[out] if lasting else [])
        thunk, (into,), (box,) = linker.make_thunk()
        into.data = np.zeros(2)
        thunk()
        first = box.data
        into.data = np.ones(2)
        thunk()
        assert first.tolist() == ([1.0, 1.0] if lasting else [2.0, 2.0])


def test_vm_puts_updates_into_the_inputs_cells_and_computes_a_subset() -> None:
    x, y = number("x"), number("y")
    fgraph = FunctionGraph([x, y], [inverse(y), add(x, y), mul(y, y)], clone=False, update_mapping={1: 0})
    machine, (x_box, y_box), outs = VMLinker(allow_gc=False).accept(fgraph).make_thunk()
    assert isinstance(machine, UpdatingVM)
    assert not machine.need_update_inputs
    x_box.data, y_box.data = 1.0, 2.0
    assert machine() == [0.5, 3.0, 4.0]
    assert x_box.data == 3.0
    assert machine(output_subset=[2]) == [None, 5.0, 4.0]
    assert (x_box.data, machine.call_counts) == (5.0, [1, 2, 2])
    y_box.data = 0.0
    assert machine([2]) == [None, 5.0, 0.0]
    with pytest.raises(GraphValueError, match=r"output_subset: there are outputs 0 to 2, got \[7\]"):
        machine([7])
    assert outs[2].data == 0.0


def test_profile_that_is_accepted_has_thunks_timed() -> None:
    x = number("x")
    machine, (box,), *_ = VMLinker().accept(FunctionGraph([x], [inverse(x)]), profile=object()).make_all()
    box.data = 2.0
    machine()
    assert machine.time_thunks
    assert machine.call_times[0] > 0


# Laziness


def choice() -> tuple[list[Variable], Variable]:
    c, x = tt.bscalar("c"), tt.dscalar("x")
    return [c, x], IfElse(1)(c, tt.exp(x), tt.log(x))


@pytest.mark.parametrize("lazy", [None, True, False])
@pytest.mark.documents("VMLinker.lazy", "option:vm__lazy")
def test_branches_run_where_they_are_chosen_unless_that_is_forbidden(lazy: bool | None) -> None:
    inputs, out = choice()
    ran: list[str] = []

    def tell(node: Apply, **_: Any) -> None:
        ran.append(str(node.op))

    for linker, flag in ((VMLinker(callback=tell, lazy=lazy), None), (VMLinker(callback=tell), lazy)):
        ran.clear()
        with config.change_flags(vm__lazy=flag):
            f = function(inputs, out, mode=Mode(linker, None))
            assert float(f(1, 0.0)) == 1.0
        assert ("Log" in ran) is (lazy is False)


@pytest.mark.documents("Linker.link")
@pytest.mark.parametrize("lazy", [True, False])
def test_option_forbids_lazy_branches_in_the_generated_program(lazy: bool) -> None:
    inputs, out = choice()
    linked = VMLinker(lazy=lazy).link(FunctionGraph(inputs, [out]))
    assert isinstance(linked, VMProgram)
    assert ("branch" in linked.source) is lazy
    assert float(linked(np.int8(1), np.array(0.0))[0]) == 1.0


def test_lazy_graph_is_run_by_a_stack_and_any_other_by_a_loop() -> None:
    inputs, out = choice()
    assert isinstance(VMLinker().accept(FunctionGraph(inputs, [out])).make_thunk()[0], Stack)
    assert isinstance(VMLinker(lazy=False).accept(FunctionGraph(inputs, [out])).make_thunk()[0], Loop)
    x = number("x")
    assert isinstance(VMLinker().accept(FunctionGraph([x], [inverse(x)])).make_thunk()[0], Loop)


def test_nested_choices_ask_only_for_what_they_need() -> None:
    c, x = tt.bscalar("c"), tt.dscalar("x")
    inner = IfElse(1)(c, tt.sin(x), tt.cos(x))
    out = IfElse(1)(c, inner, tt.log(x)) + IfElse(1)(c, tt.sqrt(x), tt.exp(x))
    storage: dict[Variable, list[Any]] = {}
    machine, (c_box, x_box), (box,) = (
        VMLinker(allow_gc=False).accept(FunctionGraph([c, x], [out], clone=False)).make_thunk(None, None, storage)
    )
    c_box.data, x_box.data = 1, 4.0
    machine()
    assert float(box.data) == pytest.approx(np.sin(4.0) + 2.0)
    left = {str(v.owner.op) for v, cell in storage.items() if v.owner is not None and cell[0] is None}
    assert left == {"Cos", "Log", "Exp"}


# Callbacks


@pytest.mark.documents("VMLinker.callback", "VMLinker.callback_input")
def test_callbacks_see_each_input_and_each_node() -> None:
    seen: list[Any] = []

    def after(node: Apply, thunk: Any, storage_map: Any, compute_map: Any) -> None:
        (out,) = node.outputs
        seen.append((str(node.op), float(storage_map[out][0]), compute_map[out], [float(c[0]) for c in thunk.outputs]))

    def before(var: Variable, value: Any) -> None:
        seen.append((var.name, float(value)))

    x, state = tt.dscalar("x"), shared(np.array(10.0), "state")
    f = function([x], tt.exp(x) + state, mode=Mode(VMLinker(callback=after, callback_input=before), None))
    f(0.0)
    assert seen[:4] == [("x", 0.0), ("state", 10.0), ("Exp", 1.0, [True], [1.0]), ("Add", 11.0, [True], [11.0])]
    with pytest.raises(GraphTypeError, match="VMLinker: callback must be a function, got 3"):
        VMLinker(callback=3)  # type: ignore[arg-type]


# Wrapping


@pytest.mark.documents("WrapLinker", "WrapLinkerMany", "WrapLinker.linkers", "WrapLinker.wrapper")
def test_wrapper_gets_a_thunk_of_every_linker_for_every_node() -> None:
    seen: list[Any] = []

    def compare(fgraph: FunctionGraph, i: int, node: Apply, mine: Any, theirs: Any) -> None:
        mine()
        theirs()
        seen.append((i, str(node.op), [float(c[0]) for c in mine.outputs] == [float(c[0]) for c in theirs.outputs]))
        assert node in fgraph.apply_nodes

    x = tt.dscalar("x")
    linker = WrapLinker([PerformLinker(), VMLinker()], compare)
    f = function([x], tt.exp(x) * 2, mode=Mode(linker, None))
    assert float(f(0.0)) == 2.0
    assert [(i, same) for i, _, same in seen] == [(i, True) for i in range(len(f.fgraph))]


@pytest.mark.documents("WrapLinkerMany.linkers", "WrapLinkerMany.wrappers")
def test_each_of_many_wrappers_is_called() -> None:
    seen: list[str] = []
    wrappers = [lambda *_: seen.append("first"), run_all, lambda *_: seen.append("last")]
    x = number("x")
    thunk, (box,), (out,) = (
        WrapLinkerMany([PerformLinker()], wrappers).accept(FunctionGraph([x], [inverse(x)])).make_thunk()
    )
    box.data = 4.0
    thunk()
    assert (seen, out.data) == (["first", "last"], 0.25)


def test_wrapper_that_fails_names_the_node() -> None:
    def fail(*_: Any) -> None:
        msg = "too large"
        raise ArithmeticError(msg)

    x = number("x")
    thunk, (box,), _ = WrapLinker([PerformLinker()], fail).accept(FunctionGraph([x], [inverse(x)])).make_thunk()
    box.data = 1.0
    with pytest.raises(NodeArithmeticError, match="Inverse: too large"):
        thunk()


@pytest.mark.documents("PerformLinker.schedule")
def test_linkers_that_order_nodes_differently_are_refused() -> None:
    x = number("x")
    backwards = PerformLinker(schedule=lambda fgraph: list(reversed(list(fgraph.toposort()))))
    linker = WrapLinker([PerformLinker(), backwards], run_all)
    with pytest.raises(GraphValueError, match="all linkers must run the nodes in one order"):
        linker.accept(FunctionGraph([x], [add(inverse(x), x)])).make_thunk()
    with pytest.raises(GraphTypeError, match="a list of one linker or more is needed, got"):
        WrapLinker([], run_all)
    with pytest.raises(GraphTypeError, match="the wrapper must be a function"):
        WrapLinker([PerformLinker()], None)  # type: ignore[arg-type]


# Linkers of whole graphs


class Compiled(JITLinker):
    """Hands the graph to Python's own compiler."""

    def fgraph_convert(self, fgraph: FunctionGraph, order: Any, input_storage: Any, *rest: Any, **kwargs: Any) -> Any:
        def convert(op: Op, node: Apply, **_: Any) -> Callable[..., Any]:
            def run(*values: Any) -> Any:
                cells: list[list[Any]] = [[None] for _ in node.outputs]
                op.perform(node, values, cells)
                return cells[0][0] if len(cells) == 1 else tuple(cell[0] for cell in cells)

            return run

        return fgraph_to_python(fgraph, convert, order=order)

    def jit_compile(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn

    def output_filter(self, var: Variable, out: Any) -> Any:
        return np.asarray(out)


@pytest.mark.documents("JITLinker")
def test_linker_of_whole_graphs_is_written_as_documented() -> None:
    x, state = tt.dvector("x"), shared(np.zeros(2), "s")
    f = function([x], [tt.exp(x) * 2 + state, x], updates={state: state + x}, mode=Mode(Compiled()))
    assert [out.tolist() for out in f(np.zeros(2))] == [[2.0, 2.0], [0.0, 0.0]]
    assert f(np.zeros(2))[0].tolist() == [2.0, 2.0]
    thunks = Compiled().accept(FunctionGraph([x], [x + 1])).make_all()
    assert (len(thunks[3]), "def fgraph_to_python(" in thunks[0].jit_fn.__source__) == (1, True)

    class Half(JITLinker):
        pass

    with pytest.raises(MethodNotDefinedError, match="Half: a JITLinker must implement fgraph_convert"):
        function([x], x + 1, mode=Mode(Half()))


@pytest.mark.documents("Linker.required_rewrites", "Linker.incompatible_rewrites")
def test_tags_of_a_linker_count_in_its_mode() -> None:
    class Picky(VMLinker):
        required_rewrites = ("minimum_compile", "fusion")
        incompatible_rewrites = ("inplace",)

    backend = Mode(Picky()).backend
    assert isinstance(backend, Backend)
    assert (backend.name, backend.include, backend.exclude) == ("Picky", ("minimum_compile", "fusion"), ("inplace",))
    x = tt.dvector("x")
    assert len(function([x], tt.exp(x) + tt.log(x), mode=Mode(Picky())).fgraph) < len(
        function([x], tt.exp(x) + tt.log(x), mode=Mode(VMLinker())).fgraph
    )
