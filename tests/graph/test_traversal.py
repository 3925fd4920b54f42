"""Walks over graphs."""

import pytest

from tests.graph.arithmetic import NUMBER, add, chain, div_mod, inverse, mul, number
from treadle.config import config
from treadle.graph import (
    CycleError,
    FunctionGraph,
    GraphTypeError,
    SharedVariable,
    Variable,
    ancestors,
    apply_ancestors,
    apply_depends_on,
    applys_between,
    as_string,
    explicit_graph_inputs,
    general_toposort,
    get_var_by_name,
    graph_inputs,
    io_toposort,
    is_in_ancestors,
    op_as_string,
    orphans_between,
    reading_order,
    toposort,
    truncated_graph_inputs,
    variable_ancestors,
    variable_depends_on,
    vars_between,
    walk,
    walk_toposort,
)

X, Y = number("x"), number("y")
PRODUCT = mul(X, Y)
TOTAL = add(PRODUCT, X)


@pytest.mark.parametrize(("bfs", "expected"), [(True, [1, 2, 3, 4, 6]), (False, [1, 3, 6, 4, 2])])
def test_walk_yields_each_object_once_in_the_order_asked_for(bfs: bool, expected: list[int]) -> None:
    edges = {1: [2, 3], 2: [4], 3: [4, 6]}
    assert list(walk([1], edges.get, bfs)) == expected


def test_ancestors_stop_at_blockers() -> None:
    assert list(ancestors([TOTAL])) == [TOTAL, X, PRODUCT, Y]
    assert list(ancestors([TOTAL], [PRODUCT])) == [TOTAL, X, PRODUCT]
    assert list(reading_order([TOTAL], [PRODUCT])) == [TOTAL, PRODUCT, X]


def test_ancestors_come_depth_first_from_the_last_one_on() -> None:
    x, y, z = (number(name) for name in "xyz")
    state = SharedVariable(NUMBER, 1.0, name="state")
    product = mul(x, y)
    quotient, rest = div_mod(product, state)
    first, second = add(z, quotient), add(quotient, add(y, z))
    assert [v.name for v in graph_inputs([first, second])] == ["z", "y", "state", "x"]
    assert list(explicit_graph_inputs([second, first])) == [y, x, z]
    assert list(explicit_graph_inputs(second)) == [z, y, x]
    assert list(ancestors([first])) == [first, quotient, state, product, y, x, z]
    assert list(reading_order([first])) == [first, z, quotient, product, x, y, state]
    assert list(apply_ancestors([second])) == [
        second.owner,
        second.owner.inputs[1].owner,
        quotient.owner,
        product.owner,
    ]
    assert list(vars_between([product], [first])) == [first, quotient, rest, state, product, z]


def test_inputs_are_those_without_owner() -> None:
    constant = NUMBER.make_constant(1.0)
    state = SharedVariable(NUMBER, 1.0, name="state")
    out = add(add(X, constant), state)
    assert list(graph_inputs([out])) == [state, constant, X]
    assert list(explicit_graph_inputs(out)) == [X]


def test_variables_between_include_both_ends() -> None:
    assert set(vars_between([X, Y], [TOTAL])) == {X, Y, PRODUCT, TOTAL}
    assert set(vars_between([PRODUCT], [TOTAL])) == {PRODUCT, TOTAL, X}


def test_orders_begin_at_the_first_or_at_the_last_variables_as_the_option_says() -> None:
    x, y = number("x"), number("y")
    first, last = add(x, x), add(y, y)
    both, alone = add(first, last), mul(x, y)
    outs = [both, alone]
    graph = FunctionGraph([x, y], outs, clone=False)
    forwards = [v.owner for v in (first, last, both, alone)]
    backwards = [v.owner for v in (alone, last, first, both)]
    assert toposort(outs) == io_toposort([x, y], outs) == graph.toposort() == forwards
    with config.change_flags(toposort_from="last"):
        assert toposort(outs) == io_toposort([x, y], outs) == graph.toposort() == backwards
        replaced = mul(x, x)
        graph.replace(last, replaced)
        assert graph.toposort() == [alone.owner, replaced.owner, first.owner, both.owner]


def test_orders_of_evaluation_leave_out_what_is_given() -> None:
    nodes = [PRODUCT.owner, TOTAL.owner]
    assert toposort([TOTAL]) == nodes
    assert io_toposort([PRODUCT], [TOTAL]) == nodes[1:]
    assert list(applys_between([X, Y], [TOTAL])) == nodes[::-1]
    assert list(apply_ancestors([TOTAL])) == nodes[::-1]


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
    assert truncated_graph_inputs([out], [PRODUCT]) == [X, PRODUCT]
    assert truncated_graph_inputs([out]) == [out]


def test_deep_graphs_are_walked_without_recursion(length: int) -> None:
    out = chain(X, length)
    assert len(toposort([out])) == length
    assert variable_depends_on(out, X)


@pytest.mark.parametrize("bfs", [True, False])
def test_walk_can_return_what_each_object_led_to(bfs: bool) -> None:
    edges = {1: [2, 3], 2: [], 3: [2]}
    assert dict(walk([1], edges.get, bfs, return_children=True)) == edges
    pairs = list(walk([2, 4], edges.get, bfs, return_children=True))
    assert pairs == ([(2, []), (4, None)] if bfs else [(4, None), (2, [])])


def test_variable_ancestors_are_ancestors() -> None:
    assert list(variable_ancestors([TOTAL], [PRODUCT])) == list(ancestors([TOTAL], [PRODUCT]))


def test_orphans_are_what_is_needed_and_not_given() -> None:
    one = NUMBER.make_constant(1.0)
    assert set(orphans_between([X], [add(TOTAL, one)])) == {Y, one}


def test_nodes_depend_on_those_they_need() -> None:
    assert apply_depends_on(TOTAL.owner, PRODUCT.owner)
    assert apply_depends_on(TOTAL.owner, [PRODUCT.owner])
    assert apply_depends_on(TOTAL.owner, {TOTAL.owner})
    assert not apply_depends_on(PRODUCT.owner, [TOTAL.owner])


def test_variables_are_found_by_name() -> None:
    other = number("x")
    assert set(get_var_by_name([add(TOTAL, other)], "x")) == {X, other}
    assert get_var_by_name([TOTAL], "z") == ()


def test_truncated_inputs_hold_the_ancestors_asked_for_and_what_does_not_depend_on_them() -> None:
    x, y = number("x"), number("y")
    left, right = inverse(x), inverse(y)
    middle = add(left, right)
    out = mul(middle, left)
    assert truncated_graph_inputs([out, out]) == [out]
    assert truncated_graph_inputs([out], [left]) == [left, right]
    assert set(truncated_graph_inputs([out], [x])) == {x, right}
    # An ancestor that was asked for is listed beside another one that depends on it.
    assert set(truncated_graph_inputs([out], [middle, left])) == {middle, left, right}
    assert truncated_graph_inputs([middle], [middle]) == [middle]
    assert truncated_graph_inputs([out], [number("elsewhere")]) == [out]


def test_any_objects_can_be_ordered_by_what_they_depend_on() -> None:
    needs = {"a": ["b", "c"], "b": ["c"], "c": []}
    clients: dict[str, list[str]] = {}
    assert general_toposort(["a"], needs.get, clients=clients) == ["c", "b", "a"]
    assert clients == {"c": ["b", "a"], "b": ["a"]}
    assert list(walk_toposort(["b", "a"], needs.get)) == ["c", "b", "a"]
    cache = {"a": ["b"]}
    assert general_toposort(["a"], None, compute_deps_cache=needs.get, deps_cache=cache) == ["c", "b", "a"]
    assert cache == {"a": ["b"], "b": ["c"], "c": []}
    with pytest.raises(GraphTypeError, match="neither deps nor compute_deps_cache"):
        general_toposort(["a"], None)


def test_objects_that_depend_on_themselves_have_no_order() -> None:
    needs = {1: [2, 9], 2: [3], 3: [4], 4: [2], 9: [2]}
    with pytest.raises(CycleError, match=r"4 -> 3 -> 2 -> 4") as caught:
        general_toposort([1], needs.get)
    assert caught.value.nodes == (4, 3, 2)
    ring = {n: [(n + 1) % 50] for n in range(50)}
    with pytest.raises(CycleError, match="44 more"):
        list(walk_toposort([0], ring.get))


def test_expressions_are_written_with_repeated_parts_numbered() -> None:
    twice = inverse(X)
    quotient, rest = div_mod(X, 2.0)
    out = add(add(twice, twice), mul(quotient, rest))
    assert as_string([X], [out, twice, X]) == [
        "add(add(*1 -> Inverse(x), *1), mul(*2 -> DivMod(x, 2.0).0, *2.1))",
        "*1",
        "x",
    ]
    assert as_string([TOTAL], [inverse(TOTAL)]) == ["Inverse(add.out)"]
    assert op_as_string([X, Y], TOTAL.owner) == "add(mul(x, y), x)"
    formatted = as_string([X, Y], [TOTAL], lambda v: f"<{v}>", lambda node, args: f"({f' {node.op} '.join(args)})")
    assert formatted == ["((<x> mul <y>) add <x>)"]
    assert as_string([X], [inverse(X)], node_formatter=lambda *_: "\x02 odd \x037") == ["\x02 odd \x037"]


def test_walks_over_long_and_wide_graphs_do_not_recurse(length: int, width: int) -> None:
    x = number("x")
    wide: list[Variable] = [inverse(x) for _ in range(width)]
    total = wide[0]
    for term in wide[1:]:
        total = add(total, term)
    for out, nodes, uses in ((chain(x, length), length, length + 1), (total, 2 * width - 1, width)):
        node = out.owner
        assert node is not None
        first = toposort([out])[0]
        assert len(toposort([out])) == nodes
        assert is_in_ancestors(node, first)
        assert apply_depends_on(node, first)
        assert truncated_graph_inputs([out], [x]) == [x]
        assert list(orphans_between([], [out])) == [x]
        assert sum(1 for _ in walk_toposort([node], lambda n: [v.owner for v in n.inputs if v.owner])) == nodes
        (text,) = as_string([x], [out])
        assert text.count("x") == uses
