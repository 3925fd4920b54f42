"""Frozen graphs, structural keys, and equality of graphs by what they compute."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.arithmetic import NUMBER, Arithmetic, Number, add, chain, div_mod, inverse, mul, number
from treadle.graph import (
    AbstractFunctionGraph,
    Apply,
    Constant,
    FrozenFunctionGraph,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    HasInnerGraph,
    History,
    MissingInputError,
    SharedVariable,
    Type,
    Variable,
    equal_computations,
    graph_key,
    static_op,
)


def frozen(build: Any, kind: Number = NUMBER) -> FrozenFunctionGraph:
    x, y = kind("x"), kind("y")
    return FunctionGraph([x, y], [build(x, y)]).freeze()


@static_op
class Inner(Arithmetic, HasInnerGraph):
    """Applies a frozen graph."""

    graph: FrozenFunctionGraph
    scale: float = 1.0

    @property
    def fgraph(self) -> FrozenFunctionGraph:
        return self.graph

    @property
    def inner_inputs(self) -> list[Variable]:
        return list(self.graph.inputs)

    @property
    def inner_outputs(self) -> list[Variable]:
        return list(self.graph.outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise NotImplementedError


class Loose(Arithmetic, HasInnerGraph):
    """Applies a graph that may be changed; equal only to itself."""

    def __init__(self, graph: FunctionGraph) -> None:
        self.graph = graph

    @property
    def fgraph(self) -> FunctionGraph:
        return self.graph

    @property
    def inner_inputs(self) -> list[Variable]:
        return self.graph.inputs

    @property
    def inner_outputs(self) -> list[Variable]:
        return self.graph.outputs

    def infer(self, *types: Type) -> Sequence[Type]:
        return [types[0]]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise NotImplementedError


class Unnamed(Arithmetic):
    """An op without declared parameters: it equals only itself."""

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise NotImplementedError


def test_frozen_graphs_compare_and_hash_by_what_they_compute() -> None:
    one, two = (frozen(lambda x, y: add(mul(x, y), 2.0)) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert {one: 1}[two] == 1
    assert one.stable_key() == two.stable_key()
    others = [
        frozen(lambda x, y: add(mul(y, x), 2.0)),
        frozen(lambda x, y: add(mul(x, y), 3.0)),
        frozen(lambda x, y: add(2.0, mul(x, y))),
        frozen(mul),
        frozen(lambda x, _y: x),
        frozen(lambda x, y: add(mul(x, y), Number("m").make_constant(2.0)), Number("m")),
    ]
    assert len({one, two, *others}) == 7
    assert len({graph.stable_key() for graph in (one, two, *others)}) == 7
    assert one != "something else"


def test_what_is_computed_twice_equals_what_is_used_twice() -> None:
    def doubled(x: Variable, y: Variable) -> Variable:
        product = mul(x, y)
        total: Variable = add(product, product)
        return total

    once = frozen(doubled)
    twice = frozen(lambda x, y: add(mul(x, y), mul(x, y)))
    assert (len(once), len(twice)) == (2, 3)
    assert once == twice
    assert hash(once) == hash(twice)
    assert once.stable_key() == twice.stable_key()


def test_frozen_graph_is_a_copy_that_can_be_read() -> None:
    x, y = number("x"), number("y")
    graph = FunctionGraph([x, y], [add(x, y), x], clone=False)
    fixed = graph.freeze()
    graph.replace(graph.outputs[0], mul(x, y))
    assert isinstance(fixed, AbstractFunctionGraph)
    (node,) = fixed.toposort()
    assert str(node) == "add(x, y)"
    assert fixed.apply_nodes == {node}
    assert fixed.variables == {*fixed.inputs, *node.outputs}
    assert fixed.get_clients(fixed.inputs[1]) == [(node, 1)]
    assert fixed.clients[fixed.inputs[1]] == ((node, 1),)
    assert node in fixed
    assert x not in fixed
    assert fixed.outputs[1] is fixed.inputs[0]
    assert repr(fixed) == "FrozenFunctionGraph([x, y] -> [add.out, x], 1 nodes)"
    assert fixed.freeze() is fixed
    assert fixed.clone() is fixed


CHANGES = (
    "add_input remove_input add_output remove_output remove_node import_var import_node change_node_input replace "
    "replace_all attach_feature remove_feature"
)


@pytest.mark.parametrize("name", CHANGES.split())
def test_frozen_graph_refuses_every_change(name: str) -> None:
    fixed = frozen(add)
    with pytest.raises(GraphTypeError, match=r"cannot be changed\. Change the copy that its unfreeze\(\) returns"):
        getattr(fixed, name)(fixed.outputs[0], reason="any")


def test_frozen_graphs_attributes_and_nodes_are_fixed() -> None:
    fixed = frozen(add)
    (node,) = fixed.toposort()
    changes: list[Any] = [
        lambda: setattr(fixed, "inputs", ()),
        lambda: setattr(fixed, "anything", 1),
        lambda: delattr(fixed, "_graph"),
        lambda: node.inputs.__setitem__(0, number()),
        lambda: node.inputs.append(number()),
        node.outputs.clear,
    ]
    for change in changes:
        with pytest.raises(GraphTypeError, match="cannot be changed"):
            change()
    assert node.inputs == list(fixed.inputs)


def test_unfrozen_graph_can_be_changed_without_touching_the_frozen_one() -> None:
    fixed = frozen(add)
    graph = fixed.unfreeze()
    assert graph.freeze() == fixed
    graph.replace(graph.outputs[0], mul(*graph.inputs))
    assert graph.freeze() != fixed
    assert str(fixed.outputs[0].owner) == "add(x, y)"
    copy, equiv = fixed.clone_get_equiv(check_integrity=True)
    assert equiv[fixed.outputs[0]] is copy.outputs[0]


def test_frozen_graph_is_bound_to_other_variables() -> None:
    fixed = frozen(lambda x, y: add(mul(x, y), x))
    a, b = number("a"), number("b")
    assert equal_computations(fixed.bind([a, b]), [add(mul(a, b), a)])
    assert equal_computations(fixed.bind({fixed.inputs[1]: b}), [add(mul(fixed.inputs[0], b), fixed.inputs[0])])
    with pytest.raises(GraphValueError, match="has 2 inputs, got 1 variables"):
        fixed.bind([a])
    with pytest.raises(GraphValueError, match=r"a is no input of the graph\. Replace its inputs only: x, y"):
        fixed.bind({a: b})


def test_what_a_frozen_graph_is_bound_to_can_be_changed() -> None:
    # This holds for a node that depends on constants alone, too.
    fixed = frozen(lambda x, y: add(mul(2.0, 3.0), mul(x, y)))
    variables = [number("a"), number("b")]
    graph = FunctionGraph(variables, fixed.bind(variables), clone=False)
    constant = next(node for node in graph.apply_nodes if all(isinstance(x, Constant) for x in node.inputs))
    assert constant not in fixed.apply_nodes
    graph.change_node_input(constant, 0, constant.inputs[1])
    assert constant.inputs[0] is constant.inputs[1]


def test_frozen_graph_needs_all_its_inputs() -> None:
    x, y = number("x"), number("y")
    with pytest.raises(MissingInputError):
        FrozenFunctionGraph([x], [add(x, y)])


def test_pickled_frozen_graph_is_equal() -> None:
    fixed = frozen(lambda x, y: add(mul(x, y), 2.0))
    loaded, again = pickle.loads(pickle.dumps([fixed, fixed]))
    assert loaded == fixed
    assert loaded is again
    with pytest.raises(GraphTypeError):
        loaded.toposort()[0].inputs.pop()


def test_ops_with_equal_inner_graphs_are_equal() -> None:
    one, two, other = Inner(frozen(add)), Inner(frozen(add)), Inner(frozen(mul))
    x = number("x")
    assert one == two
    assert hash(one) == hash(two)
    assert one.stable_key() == two.stable_key()
    assert one != other
    assert one != Inner(frozen(add), 2.0)
    assert equal_computations([one(x)], [two(x)])
    assert not equal_computations([one(x)], [other(x)])
    nested = [Inner(FunctionGraph([x], [op(x)]).freeze()) for op in (one, two, other)]
    assert nested[0] == nested[1] != nested[2]


def test_graphs_with_ops_that_equal_only_themselves_compare_in_this_process() -> None:
    op, other = Unnamed(), Unnamed()
    one, two, three = (FunctionGraph([x := number()], [f(x)]).freeze() for f in (op, op, other))
    assert one == two != three
    with pytest.raises(GraphTypeError, match="declares no parameters"):
        one.stable_key()


def test_shared_variables_count_by_identity() -> None:
    x, a, b = number("x"), SharedVariable(NUMBER, 1.0, name="a"), SharedVariable(NUMBER, 1.0, name="b")
    one, two, three = (FunctionGraph([x], [add(x, s)]).freeze() for s in (a, a, b))
    assert one == two != three


def test_ops_that_differ_in_their_inner_graphs_are_looked_into() -> None:
    def loose(build: Any) -> Loose:
        a = number()
        return Loose(FunctionGraph([a], [build(a)]))

    x = number("x")
    one, two, other = loose(inverse), loose(inverse), loose(lambda a: add(a, a))
    assert one != two
    assert equal_computations([add(one(x), one(x))], [add(two(x), two(x))])
    assert not equal_computations([one(x)], [other(x)])
    deep, same_deep, other_deep = loose(one), loose(two), loose(other)
    assert equal_computations([deep(x)], [same_deep(x)])
    assert not equal_computations([deep(x)], [other_deep(x)])
    assert not equal_computations([deep(x)], [inverse(x)])


def test_inputs_may_be_matched_many_to_many() -> None:
    x, y, z = number("x"), number("y"), number("z")
    assert equal_computations([add(x, x)], [add(y, z)], [x, x], [y, z])
    assert not equal_computations([add(x, x)], [add(y, z)], [x], [y])
    assert not equal_computations([add(x, y)], [add(z, z)], [x], [z])
    metre = Number("m")("metre")
    assert not equal_computations([x], [metre], [x], [metre])
    assert equal_computations([x], [metre], [x], [metre], strict_dtype=False)
    product = mul(x, y)
    assert equal_computations([inverse(product)], [inverse(z)], [product], [z])
    assert not equal_computations([inverse(product)], [inverse(product)], [product], [z])


# Random graphs

NUMBERS = st.lists(st.integers(0, 1_000), min_size=3, max_size=30)


def build(numbers: list[int], reuse: bool) -> tuple[list[Variable], list[Variable]]:
    """Return a graph; with or without reusing what is computed already."""
    x, y = number("x"), number("y")
    recipes: list[Any] = [lambda _: x, lambda _: y, lambda _: NUMBER.make_constant(1.0)]
    for n in numbers:
        i, j = n % len(recipes), (n // 7) % len(recipes)
        op = (add, mul, inverse, div_mod)[n % 4]
        recipes.append(lambda result_of, op=op, i=i, j=j: step(op, result_of(i), result_of(j)))
    known: dict[int, Variable] = {}
    budget = [60]

    def result_of(i: int) -> Variable:
        budget[0] -= 1
        if i not in known or (not reuse and budget[0] > 0):
            known[i] = recipes[i](result_of)
        return known[i]

    return [x, y], [result_of(len(recipes) - 1), result_of(len(recipes) - 2)]


def step(op: Any, x: Variable, y: Variable) -> Variable:
    result: Variable = op(x) if op is inverse else op(x, y)[1] if op is div_mod else op(x, y)
    return result


@given(NUMBERS, NUMBERS)
@settings(max_examples=200, deadline=None)
def test_keys_agree_with_equality(first: list[int], second: list[int]) -> None:
    graphs = [build(numbers, reuse) for numbers in (first, second) for reuse in (True, False)]
    for ins, outs in graphs:
        for other_ins, other_outs in graphs:
            equal = equal_computations(outs, other_outs, ins, other_ins)
            same_key = graph_key(ins, outs, sharing=False) == graph_key(other_ins, other_outs, sharing=False)
            mine, theirs = FrozenFunctionGraph(ins, outs), FrozenFunctionGraph(other_ins, other_outs)
            assert (same_key, mine == theirs) == (equal, equal)
            assert FunctionGraph(ins, outs).equals(mine)
    assert equal_computations(graphs[0][1], graphs[1][1], graphs[0][0], graphs[1][0])


def test_key_is_the_same_in_every_process() -> None:
    program = (
        "from tests.graph.test_frozen_graph import Inner, build, frozen, add, mul\n"
        "from treadle.graph import FunctionGraph, graph_key\n"
        "ins, outs = build(list(range(5, 25)), True)\n"
        "print(FunctionGraph(ins, outs).stable_key(), graph_key(ins, outs))\n"
        "print(Inner(frozen(lambda x, y: add(mul(x, y), 2.0))).stable_key())\n"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    ins, outs = build(list(range(5, 25)), True)
    here = f"{FunctionGraph(ins, outs).stable_key()} {graph_key(ins, outs)}\n"
    here += Inner(frozen(lambda x, y: add(mul(x, y), 2.0))).stable_key() + "\n"
    assert runs == {here}


def test_long_and_wide_graphs_are_frozen_compared_and_hashed(length: int, width: int) -> None:
    x = number("x")
    wide = [inverse(add(x, float(i))) for i in range(width)]
    total = wide[0]
    for term in wide[1:]:
        total = add(total, term)
    for out in (chain(x, length), total):
        one, two = FrozenFunctionGraph([x], [out]), FrozenFunctionGraph([x], [out])
        assert one == two
        assert hash(one) == hash(two)
        assert one.stable_key() == two.stable_key()
        assert equal_computations(one.unfreeze().outputs, one.bind([x]), [], []) is False
        assert equal_computations(one.bind([x]), [out])


def test_history_is_not_part_of_a_frozen_graph() -> None:
    x = number("x")
    graph = FunctionGraph([x], [inverse(x)], [History()])
    assert graph.freeze() == FunctionGraph([x], [inverse(x)]).freeze()
