"""Ownership of the memory of results, shared values and arguments: value safety, and the number of copies."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    DeepCopyOp,
    Function,
    FunctionMaker,
    FunctionTypeError,
    In,
    Mode,
    Out,
    ViewOp,
    add_supervisor_to_fgraph,
    alias_root,
    function,
    infer_reuse_pattern,
    insert_deepcopy,
    shared,
    view_tree_set,
)
from treadle.graph import FunctionGraph, Op, Supervisor
from treadle.link.vm import PythonLinker

BACKENDS = ["VM", "C", "NUMBA", "JAX"]


def count(f: Function, kind: type[Op]) -> int:
    return sum(isinstance(node.op, kind) for node in f.maker.fgraph.apply_nodes)


def assert_separate(*values: Any) -> None:
    arrays = [np.asarray(v) for v in values]
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2))


CASES: dict[str, tuple[Any, int]] = {
    "input": (lambda x: [x], 1),
    "view of input": (lambda x: [x[::-1]], 1),
    "part of input": (lambda x: [x[1:]], 1),
    "constant": (lambda x: [tt.constant(np.arange(4.0)), x + 1], 1),
    "the same twice": (lambda x: [x * 2, x * 2], 1),
    "value and its view": (lambda x: [(y := x * 2), y[::-1]], 1),
    "view of a computed value": (lambda x: [(x * 2)[::-1]], 0),
    "three times": (lambda x: [(y := x * 2), y, y], 2),
    "input twice": (lambda x: [x, x], 2),
    "computed": (lambda x: [x * 2, x + 1], 0),
}


@pytest.mark.documents("Out.borrow", "In.borrow", "FunctionMaker.prepare_fgraph", "P16")
@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.parametrize("case", CASES)
def test_results_share_no_memory_and_are_copied_no_more_than_needed(case: str, mode: str) -> None:
    make, copies = CASES[case]
    x = tt.dvector("x")
    argument = np.arange(4.0)
    wanted = [np.array(v) for v in function([x], make(x), mode="FAST_COMPILE")(argument)]
    f = function([x], make(x), mode=mode)
    first = f(argument)
    for actual, value in zip(first, wanted, strict=True):
        np.testing.assert_array_equal(actual, value)
    assert_separate(argument, *first)
    assert (count(f, DeepCopyOp), count(f, ViewOp)) == (copies, 0)
    for result in first:
        result[...] = -1.0
    for actual, value in zip(f(np.arange(4.0)), wanted, strict=True):
        np.testing.assert_array_equal(actual, value)


@pytest.mark.parametrize(
    ("borrow_in", "borrow_out", "copies", "same"),
    [(False, False, 1, False), (True, False, 1, False), (False, True, 1, False), (True, True, 0, True)],
)
@pytest.mark.documents("In.borrow", "Out.borrow", "F4", "F7")
def test_result_is_the_argument_only_where_both_are_borrowed(
    borrow_in: bool, borrow_out: bool, copies: int, same: bool
) -> None:
    x = tt.dvector("x")
    f = function([In(x, borrow=borrow_in)], Out(x, borrow=borrow_out), mode="VM")
    argument = np.ones(3)
    assert (f(argument) is argument) is same
    assert count(f, DeepCopyOp) == copies


@pytest.mark.parametrize("mode", BACKENDS)
def test_borrowed_outputs_are_not_copied_by_the_graph(mode: str) -> None:
    x = tt.dvector("x")
    y = x * 2
    f = function([In(x, borrow=True)], [Out(v, borrow=True) for v in (x, x[::-1], y, y[1:])], mode=mode)
    results = f(np.arange(3.0))
    assert [np.asarray(r).tolist() for r in results] == [[0, 1, 2], [2, 1, 0], [0, 2, 4], [2, 4]]
    assert count(f, DeepCopyOp) == 0


def test_borrowed_outputs_share_memory_on_the_vm() -> None:
    x = tt.dvector("x")
    y = x * 2
    f = function([In(x, borrow=True)], [Out(v, borrow=True) for v in (x, y, y[1:])], mode="VM")
    argument = np.arange(3.0)
    same, whole, part = f(argument)
    assert same is argument
    assert np.shares_memory(whole, part)


def test_one_borrowed_output_does_not_expose_another_that_is_not() -> None:
    y: Any = tt.dvector("x") * 2
    f = function([y.owner.inputs[0]], [Out(y, borrow=True), y, Out(y, borrow=True)], mode="VM")
    assert_separate(*f(np.ones(2)))


@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.documents("function.updates")
def test_new_values_share_memory_with_nothing(mode: str) -> None:
    x = tt.dvector("x")
    a, b, c = (shared(np.full(3, float(k)), name=name) for k, name in enumerate("abc"))
    y = a + x
    f = function([x], [y, y[::-1], b], updates={a: y, b: c, c: y}, mode=mode)
    argument = np.ones(3)
    kept = [v.get_value(borrow=True) for v in (a, b, c)]
    results = f(argument)
    assert [r.tolist() for r in results] == [[1.0] * 3] * 3
    state = [v.get_value(borrow=True) for v in (a, b, c)]
    assert [v.tolist() for v in state] == [[1.0] * 3, [2.0] * 3, [1.0] * 3]
    assert_separate(argument, *results, *state)
    assert [v.tolist() for v in kept] == [[0.0] * 3, [1.0] * 3, [2.0] * 3]


@pytest.mark.parametrize("mode", BACKENDS)
def test_argument_does_not_become_the_state(mode: str) -> None:
    x, state = tt.dvector("x"), shared(np.zeros(2))
    f = function([In(x, borrow=True)], updates={state: x}, mode=mode)
    argument = np.ones(2)
    f(argument)
    argument[:] = 5.0
    assert state.get_value().tolist() == [1.0, 1.0]


def test_constant_does_not_become_the_state() -> None:
    state = shared(np.zeros(2))
    f = function([], updates={state: tt.constant(np.ones(2))}, mode="VM")
    f()
    state.get_value(borrow=True)[:] = 5.0
    f()
    assert state.get_value().tolist() == [1.0, 1.0]


def test_values_change_places_without_a_copy() -> None:
    a, b = shared(np.zeros(2)), shared(np.ones(2))
    old = b.get_value(borrow=True)
    f = function([], updates={a: b, b: a}, mode="VM")
    f()
    assert a.get_value(borrow=True) is old
    assert (b.get_value().tolist(), count(f, DeepCopyOp)) == ([0.0, 0.0], 0)


def test_value_of_a_variable_that_stays_is_copied() -> None:
    a, b = shared(np.zeros(2)), shared(np.ones(2))
    f = function([], updates={a: b}, mode="VM")
    f()
    assert_separate(a.get_value(borrow=True), b.get_value(borrow=True))
    assert count(f, DeepCopyOp) == 1


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_each_copy_of_the_graph_is_made_once(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dvector("x")
    f = function([x], [x, x[::-1], x * 2], mode=mode)
    copies: list[Any] = []
    original = tt.TensorType.copy_value

    def counting(self: Any, value: Any) -> Any:
        copies.append(value)
        return original(self, value)

    monkeypatch.setattr(tt.TensorType, "copy_value", counting)
    f(np.arange(3.0))
    assert len(copies) == (2 if mode == "VM" else 0)


# Arguments that may be overwritten


def overwriting(mode: str = "VM", **options: Any) -> tuple[Function, Any, Any]:
    x, y = tt.dvector("x"), tt.dvector("y")
    outputs = [Out(tt.exp(x), borrow=True), y * 2]
    return function([In(x, mutable=True, **options), y], outputs, mode=mode), x, y


@pytest.mark.documents("In.mutable", "F3")
def test_mutable_argument_is_overwritten_and_others_are_not() -> None:
    f, *_ = overwriting()
    first, second = np.zeros(100_000), np.ones(100_000)
    exponential, _ = f(first, second)
    assert exponential[0] == first[0] == 1.0
    assert (second == 1.0).all()


@pytest.mark.documents("In.mutable")
@pytest.mark.parametrize("mode", BACKENDS)
def test_mutable_argument_is_copied_where_it_is_used_otherwise_too(mode: str) -> None:
    f, *_ = overwriting(mode)
    both = np.zeros(100_000)
    exponential, twice = f(both, both)
    assert (np.asarray(exponential)[0], np.asarray(twice)[0]) == (1.0, 0.0)
    overlapping = np.zeros(100_001)
    exponential, twice = f(overlapping[1:], overlapping[:-1])
    assert (np.asarray(exponential)[0], np.asarray(twice)[0]) == (1.0, 0.0)
    fixed = np.zeros(100_000)
    fixed.flags.writeable = False
    f(fixed, np.ones(100_000))
    assert (fixed == 0.0).all()


def test_mutable_argument_that_is_the_value_of_a_shared_variable_is_copied() -> None:
    x, state = tt.dvector("x"), shared(np.zeros(100_000))
    f = function([In(x, mutable=True)], [Out(tt.exp(x), borrow=True), state.sum()], mode="VM")
    f(state.get_value(borrow=True))
    assert state.get_value(borrow=True)[0] == 0.0


def test_default_is_never_overwritten() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    f = function([In(x, value=np.zeros(100_000), mutable=True)], Out(tt.exp(x), borrow=True), mode="VM")
    assert f()[0] == f()[0] == 1.0
    late = function([In(x, mutable=True), In(y, value=np.zeros(1))], [Out(tt.exp(x), borrow=True), y], mode="VM")
    late[x] = np.zeros(100_000)
    assert late()[0][0] == late()[0][0] == 1.0


@pytest.mark.documents("function.accept_inplace", "error:FunctionTypeError", "F18")
def test_graph_that_works_in_place_must_be_accepted() -> None:
    x = tt.dvector("x")
    overwritten = tt.exp.inplace_on_inputs([0])(x)
    with pytest.raises(FunctionTypeError, match=r"the graph holds Exp\{0->0\}, which overwrites its input, built at"):
        function([x], overwritten, mode="VM")
    f = function([x], overwritten, mode="VM", accept_inplace=True)
    argument = np.zeros(100_000)
    assert f(argument)[0] == 1.0
    assert argument[0] == 0.0


# The documented parts


@pytest.mark.documents("add_supervisor_to_fgraph", "Supervisor", "P9")
def test_supervisor_protects_all_but_mutable_inputs() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    fgraph = FunctionGraph([x, y], [x + y], clone=False)
    add_supervisor_to_fgraph(fgraph, [In(x, mutable=True), In(y)])
    (supervisor,) = (feature for feature in fgraph.features if isinstance(feature, Supervisor))
    assert supervisor.protected == [y]


@pytest.mark.documents("alias_root", "view_tree_set", "infer_reuse_pattern")
def test_memory_is_followed_through_views() -> None:
    x = tt.dvector("x")
    y = x * 2
    view: Any = y[1:][::-1]
    fgraph = FunctionGraph([x], [view, y + 1], clone=False)
    views: set[Any] = set()
    view_tree_set(fgraph, alias_root(view), views)
    assert alias_root(view) is y
    assert views == {y, y.owner and view.owner.inputs[0], view}
    assert infer_reuse_pattern(fgraph, [view]) == views


@pytest.mark.documents("insert_deepcopy")
def test_copies_are_inserted_into_any_graph() -> None:
    x = tt.dvector("x")
    y = x * 2
    fgraph = FunctionGraph([x], [x, y, y], clone=False)
    insert_deepcopy(fgraph, [In(x)], [Out(x), Out(y), Out(y)])
    assert [type(v.owner.op) is DeepCopyOp for v in fgraph.outputs if v.owner] == [True, True, False]
    argument = np.ones(2)
    assert_separate(argument, *PythonLinker().link(fgraph)(argument))


def test_long_chains_of_views_are_handled() -> None:
    x = tt.dvector("x")
    y: Any = x
    for _ in range(3_000):
        y = y[::-1]
    maker = FunctionMaker([x], [y, y], mode=Mode("vm", None))
    f = maker.create()
    assert_separate(*f(np.ones(2)))
