"""Walks over graphs."""

import pytest

from tests.graph.arithmetic import NUMBER, add, chain, div_mod, inverse, mul, number
from treadle.graph import (
    SharedVariable,
    ancestors,
    apply_ancestors,
    applys_between,
    explicit_graph_inputs,
    graph_inputs,
    io_toposort,
    is_in_ancestors,
    toposort,
    truncated_graph_inputs,
    variable_depends_on,
    vars_between,
    walk,
)

X, Y = number("x"), number("y")
PRODUCT = mul(X, Y)
TOTAL = add(PRODUCT, X)


@pytest.mark.parametrize(("breadth_first", "expected"), [(True, [1, 2, 3, 4, 6]), (False, [1, 2, 4, 3, 6])])
def test_walk_yields_each_object_once_in_the_order_asked_for(breadth_first: bool, expected: list[int]) -> None:
    edges = {1: [2, 3], 2: [4], 3: [4, 6]}
    assert list(walk([1], edges.get, breadth_first)) == expected


def test_ancestors_stop_at_blockers() -> None:
    assert list(ancestors([TOTAL])) == [TOTAL, PRODUCT, X, Y]
    assert list(ancestors([TOTAL], [PRODUCT])) == [TOTAL, PRODUCT, X]


def test_inputs_are_those_without_owner() -> None:
    constant = NUMBER.make_constant(1.0)
    state = SharedVariable(NUMBER, 1.0, name="state")
    out = add(add(X, constant), state)
    assert list(graph_inputs([out])) == [X, constant, state]
    assert list(explicit_graph_inputs(out)) == [X]


def test_variables_between_include_both_ends() -> None:
    assert set(vars_between([X, Y], [TOTAL])) == {X, Y, PRODUCT, TOTAL}
    assert set(vars_between([PRODUCT], [TOTAL])) == {PRODUCT, TOTAL, X}


def test_orders_of_evaluation_leave_out_what_is_given() -> None:
    nodes = [PRODUCT.owner, TOTAL.owner]
    assert toposort([TOTAL]) == nodes
    assert io_toposort([PRODUCT], [TOTAL]) == nodes[1:]
    assert list(applys_between([X, Y], [TOTAL])) == nodes
    assert list(apply_ancestors([TOTAL])) == nodes


def test_node_with_several_outputs_comes_once() -> None:
    quotient, rest = div_mod(X, Y)
    assert toposort([quotient, rest]) == [quotient.owner]


def test_dependence_of_variables_and_nodes() -> None:
    assert variable_depends_on(TOTAL, Y)
    assert variable_depends_on(TOTAL, [PRODUCT])
    assert not variable_depends_on(PRODUCT, TOTAL)
    assert is_in_ancestors(TOTAL.owner, PRODUCT.owner)
    assert not is_in_ancestors(PRODUCT.owner, TOTAL.owner)


def test_truncated_inputs_are_the_nearest_that_cut_the_graph_off() -> None:
    out = inverse(TOTAL)
    assert truncated_graph_inputs([out], [PRODUCT]) == [PRODUCT, X]
    assert truncated_graph_inputs([out]) == [X, Y]


def test_deep_graphs_are_walked_without_recursion() -> None:
    out = chain(X, 20_000)
    assert len(toposort([out])) == 20_000
    assert variable_depends_on(out, X)
