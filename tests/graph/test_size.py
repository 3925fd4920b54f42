"""Long chains and an op of many inputs through the contract of ops: nothing recurses."""

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, Arithmetic, chain, number
from treadle.config import config
from treadle.graph import (
    Apply,
    FunctionGraph,
    Variable,
    clone_replace,
    equal_computations,
    get_test_value,
    graph_key,
    io_connection_pattern,
    name_scope,
    static_op,
)
from treadle.link.vm import PythonLinker, evaluate


@static_op
class Total(Arithmetic):
    """The sum of all its inputs."""

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = sum(inputs)


@pytest.fixture
def long(length: int) -> tuple[Variable, Variable]:
    """Return the input and the output of a long chain, built in a name scope."""
    x = number("x")
    with name_scope("long"):
        return x, chain(x, length)


@pytest.fixture
def wide(width: int) -> tuple[list[Variable], Variable]:
    """Return the inputs and the output of a wide node."""
    xs = [number(f"x{i}") for i in range(width)]
    return xs, Total()(*xs)


def test_chain_is_named_by_its_last_node_alone(long: tuple[Variable, Variable]) -> None:
    _, out = long
    assert str(out) == "add.out"
    assert len(str(out.owner)) < 100
    assert clone_replace(out, {}).name is None


def test_chain_keeps_its_scope_through_a_pickle(long: tuple[Variable, Variable]) -> None:
    x, out = long
    loaded, loaded_x = pickle.loads(pickle.dumps([out, x]))
    assert equal_computations([loaded], [out], [loaded_x], [x])
    assert loaded.owner.scope == "long"


def test_chain_is_evaluated(long: tuple[Variable, Variable], length: int) -> None:
    x, out = long
    assert evaluate(out, {x: 1.0}) == length + 1.0


def test_chain_connects_its_ends(long: tuple[Variable, Variable]) -> None:
    x, out = long
    assert io_connection_pattern([x, number("y")], [out]) == [[True], [False]]


def test_chain_has_a_stable_key(long: tuple[Variable, Variable], length: int) -> None:
    x, out = long
    y = number("y")
    assert graph_key([x], [out]) == graph_key([y], [chain(y, length)])


def test_wide_node_is_built_named_and_pickled(wide: tuple[list[Variable], Variable]) -> None:
    xs, out = wide
    assert str(out) == "Total.out"
    loaded = pickle.loads(pickle.dumps([out, *xs]))
    assert equal_computations(loaded[:1], [out], loaded[1:], xs)


def test_wide_node_runs(wide: tuple[list[Variable], Variable], width: int) -> None:
    xs, out = wide
    assert PythonLinker().link(FunctionGraph(xs, [out]))(*[1.0] * width) == (float(width),)
    assert evaluate(out, dict.fromkeys(xs, 2.0)) == 2.0 * width


def test_wide_node_computes_its_test_value(width: int) -> None:
    xs = [number(f"x{i}") for i in range(width)]
    for x in xs:
        x.tag.test_value = 1.0
    with config.change_flags(compute_test_value="raise"):
        assert get_test_value(Total()(*xs)) == float(width)


def test_wide_node_connects_every_input(wide: tuple[list[Variable], Variable], width: int) -> None:
    xs, out = wide
    assert io_connection_pattern(xs, [out]) == [[True]] * width


def test_wide_node_takes_constants(width: int) -> None:
    out = Total()(*[NUMBER.make_constant(float(i)) for i in range(width)])
    assert evaluate(out, {}) == float(width * (width - 1) // 2)
