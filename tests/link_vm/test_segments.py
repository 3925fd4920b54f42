"""Linking in segments: a linker's programs for what it accepts, Python steps for the rest."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.arithmetic import DivMod, add, inverse, mul, number
from treadle.graph import Apply, FunctionGraph, NodeArithmeticError, Variable
from treadle.link.vm import Program, PythonLinker, Segment, link_in_segments, segments
from treadle.surface.thunks import Linker


class Counting(Linker):
    """The Python VM, counting the graphs it links and noting their nodes."""

    def __init__(self) -> None:
        self.linked: list[list[str]] = []

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        self.linked.append([str(node.op) for node in fgraph.toposort()])
        return PythonLinker().link(fgraph, native_outputs)


def is_sum(node: Apply) -> bool:
    return str(node.op) == "add"


def link(
    inputs: Sequence[Variable], outputs: Sequence[Variable], accepts: Callable[[Apply], bool] = is_sum
) -> tuple[Program, Counting]:
    linker = Counting()
    return link_in_segments(FunctionGraph(inputs, outputs), linker, accepts), linker


def test_a_graph_that_is_accepted_whole_is_linked_whole() -> None:
    x = number("x")
    program, linker = link([x], [add(add(x, 1.0), 2.0)])
    assert program(1.0) == (4.0,)
    assert linker.linked == [["add", "add"]]


def test_steps_stand_between_the_stretches_that_are_accepted() -> None:
    x, y = number("x"), number("y")
    program, linker = link([x, y], [add(mul(add(x, y), add(x, 3.0)), 2.0), add(y, 1.0), x])
    assert program(1.0, 2.0) == (14.0, 3.0, 1.0)
    assert sorted(linker.linked) == [["add"], ["add", "add", "add"]]


def test_a_graph_of_steps_alone_is_linked_by_the_virtual_machine() -> None:
    x = number("x")
    program, linker = link([x], list(DivMod()(mul(x, 7.0), 4.0)))
    assert program(1.0) == (1.0, 3.0)
    assert linker.linked == []


def test_an_output_used_inside_and_outside_leaves_its_stretch_once() -> None:
    x = number("x")
    s = add(x, 1.0)
    program, _ = link([x], [s, add(s, s), mul(s, s)])
    assert program(2.0) == (3.0, 6.0, 9.0)


def test_a_failure_inside_a_stretch_names_its_node() -> None:
    x = number("x")
    program, _ = link([x], [mul(inverse(add(x, 0.0)), 2.0)], lambda node: str(node.op) != "mul")
    with pytest.raises(NodeArithmeticError, match=r"(?s)Inverse: .*test_segments\.py"):
        program(0.0)


def test_a_segment_says_how_large_it_is() -> None:
    x = number("x")
    graph = FunctionGraph([x], [add(add(x, 1.0), 2.0)])
    assert str(Segment(graph, PythonLinker().link(graph))) == "Segment(2 nodes)"


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=30))
def test_no_way_leads_out_of_a_stretch_and_back(steps: list[tuple[bool, int, int]]) -> None:
    values: list[Any] = [number("x"), number("y")]
    for sums, i, j in steps:
        op = add if sums else mul
        values.append(op(values[i % len(values)], values[j % len(values)]))
    graph = FunctionGraph(values[:2], values[2:], clone=False)
    place = {node: at for at, (_, group) in enumerate(segments(graph.toposort(), is_sum)) for node in group}
    assert set(place) == set(graph.apply_nodes)
    for node, at in place.items():
        for x in node.inputs:
            assert x.owner is None or place[x.owner] <= at
    program, _ = link(values[:2], values[2:])
    assert program(1.0, -1.0) == PythonLinker().link(graph)(1.0, -1.0)


def test_a_long_chain_of_changing_kinds() -> None:
    x = number("x")
    y = x
    for _ in range(2_000):
        y = mul(add(y, 1.0), 0.5)
    program, linker = link([x], [y])
    assert program(1.0) == (1.0,)
    assert len(linker.linked) == 2_000
