"""In-place work: what may be overwritten, in which order, and that values stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.graph.arithmetic import NUMBER, Arithmetic
from treadle.graph import Apply, CycleError, DestroyHandler, FunctionGraph, Op, Supervisor, Type, Variable, static_op
from treadle.link.vm import link_in_segments
from treadle.rewrite import EquilibriumGraphRewriter, PhasedDatabase, RewriteError
from treadle.rewrite.inplace import RULES
from treadle.surface.rewriters import SubstitutionNodeRewriter, in2out, out2in
from treadle.surface.thunks import VMLinker

if TYPE_CHECKING:
    from collections.abc import Sequence

DATABASE = PhasedDatabase([RULES])


class Cell(Type):
    """Lists of one number: values that can be overwritten."""

    __props__ = ()

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> list[float]:
        return data if strict else [float(x) for x in data]


CELL = Cell()


@static_op
class Shift(Op):
    """A number added to what a cell holds."""

    amount: float
    inplace: bool = False

    @property
    def destroy_map(self) -> dict[int, list[int]]:  # type: ignore[override]
        return {0: [0]} if self.inplace else {}

    def inplace_on_inputs(self, allowed_inplace_inputs: Sequence[int]) -> Op:
        return Shift(self.amount, inplace=True) if 0 in allowed_inplace_inputs else self

    def infer(self, *types: Type) -> Sequence[Type]:
        return [CELL]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        cell = inputs[0] if self.inplace else list(inputs[0])
        cell[0] += self.amount
        output_storage[0][0] = cell


@static_op
class Same(Op):
    """A view of a cell."""

    view_map = {0: [0]}  # noqa: RUF012

    def infer(self, *types: Type) -> Sequence[Type]:
        return [CELL]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]


class Total(Arithmetic):
    """The sum of some cells."""

    __props__ = ()

    def infer(self, *types: Type) -> Sequence[Type]:
        return [NUMBER]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = float(sum(cell[0] for cell in inputs))


@static_op
class Greedy(Shift):
    """An op that overwrites more than it may."""

    @property
    def destroy_map(self) -> dict[int, list[int]]:  # type: ignore[override]
        return {0: [1]} if self.inplace else {}

    def inplace_on_inputs(self, allowed_inplace_inputs: Sequence[int]) -> Op:
        return Greedy(self.amount, inplace=True)


shift, same, total = Shift(1.0), Same(), Total()


def rewritten(inputs: list[Variable], outputs: list[Variable], *features: Any) -> FunctionGraph:
    graph = FunctionGraph(inputs, outputs, features=list(features))
    DATABASE.query("inplace").rewrite(graph)
    return graph


def in_place(graph: FunctionGraph) -> list[bool]:
    """Return for each shift, in order of evaluation, whether it works in place."""
    return [node.op.inplace for node in graph.toposort() if isinstance(node.op, Shift)]


def run(graph: FunctionGraph, *values: Any) -> Any:
    return list(VMLinker().link(graph)(*values))


def test_a_value_that_nothing_reads_later_is_overwritten() -> None:
    x = CELL("x")
    graph = rewritten([x], [shift(shift(shift(x)))])
    assert in_place(graph) == [False, True, True]
    value = [1.0]
    assert run(graph, value) == [[4.0]]
    assert value == [1.0]


def test_readers_come_before_the_node_that_overwrites() -> None:
    x = CELL("x")
    first = shift(x)
    graph = rewritten([x], [total(first, first), shift(first), total(first)])
    assert in_place(graph) == [False, True]
    assert run(graph, [1.0]) == [4.0, [3.0], 2.0]


def test_outputs_are_not_overwritten_and_neither_are_views_of_them() -> None:
    x = CELL("x")
    first = shift(x)
    graph = rewritten([x], [same(first), shift(first)])
    assert in_place(graph) == [False, False]
    assert run(graph, [1.0]) == [[2.0], [3.0]]


def test_a_view_that_is_read_later_protects_what_it_shows() -> None:
    x = CELL("x")
    first = shift(x)
    view = same(first)
    second = shift(first)
    graph = rewritten([x], [total(view, second), total(second)])
    assert run(graph, [1.0]) == [5.0, 3.0]
    assert in_place(graph) == [False, False]


def test_a_view_may_be_overwritten_when_nothing_else_reads_its_memory() -> None:
    x = CELL("x")
    graph = rewritten([x], [shift(same(shift(x)))])
    assert in_place(graph) == [False, True]
    assert run(graph, [1.0]) == [[3.0]]


def test_constants_are_not_overwritten() -> None:
    graph = rewritten([], [shift(CELL.make_constant([1.0]))])
    assert in_place(graph) == [False]


def test_an_input_that_no_supervisor_protects_is_overwritten() -> None:
    x, y = CELL("x"), CELL("y")
    graph = FunctionGraph([x, y], [shift(x), shift(y)], clone=False)
    graph.attach_feature(Supervisor([y]))
    DATABASE.query("inplace").rewrite(graph)
    assert [node.op.inplace for out in graph.outputs if (node := out.owner) and isinstance(node.op, Shift)] == [
        True,
        False,
    ]


def test_what_is_read_twice_by_one_node_is_not_overwritten() -> None:
    x = CELL("x")
    first = shift(x)
    node = Apply(shift, [first, first], [CELL()])
    assert in_place(rewritten([x], [node.outputs[0]])) == [False, False]


def test_an_op_that_overwrites_more_than_it_may_is_named() -> None:
    x = CELL("x")
    node = Apply(Greedy(1.0), [shift(x), x], [CELL()])
    graph = FunctionGraph([x], node.outputs)
    with pytest.raises(RewriteError, match=r"Greedy.*overwrites the inputs \[1\]"):
        DATABASE["work_in_place"].apply(graph)


def test_the_destroy_handler_stays_and_keeps_the_order() -> None:
    x = CELL("x")
    first = shift(x)
    graph = rewritten([x], [shift(first), total(first)])
    assert any(isinstance(feature, DestroyHandler) for feature in graph.features)
    assert [type(node.op) for node in graph.toposort()] == [Shift, Total, Shift]
    assert in_place(graph) == [False, True]


def test_user_lines_and_names_of_nodes_are_kept() -> None:
    x = CELL("x")
    second = shift(shift(x))  # the line
    (out,) = rewritten([x], [second]).outputs
    assert out.owner is not None
    assert "the line" in out.owner.user_line.text  # type: ignore[union-attr]


@pytest.mark.parametrize("accepted", [Shift, Total, Same])
def test_stretches_of_a_graph_keep_readers_before_what_overwrites(accepted: type[Op]) -> None:
    x = CELL("x")
    first = shift(x)
    second = shift(first)
    outputs = [total(first, first), total(second, same(shift(second)))]
    graph = rewritten([x], outputs)
    program = link_in_segments(graph, VMLinker(), lambda node: isinstance(node.op, accepted))
    assert list(program([1.0])) == run(FunctionGraph([x], outputs), [1.0]) == [4.0, 7.0]


def test_a_long_chain_is_walked_once(length: int) -> None:
    x = CELL("x")
    y = x
    for _ in range(length):
        y = shift(y)
    graph = rewritten([x], [y])
    assert in_place(graph).count(True) == length - 1


@static_op
class Join(Op):
    """The sum of two cells."""

    def infer(self, *types: Type) -> Sequence[Type]:
        return types[:1]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = [inputs[0][0] + inputs[1][0]]


@pytest.mark.parametrize("make", [in2out, out2in, lambda rewriter: EquilibriumGraphRewriter([rewriter])])
def test_graph_that_in_place_work_leaves_without_an_order_can_be_repaired(make: Any) -> None:
    x = CELL("x")
    # The cell is overwritten, and by then must have been read by a node that needs the result.
    shifted = Shift(1.0, inplace=True)(x)
    graph = FunctionGraph([x], [Join()(shifted, x)], clone=False)
    graph.attach_feature(DestroyHandler())
    with pytest.raises(CycleError):
        graph.toposort()
    make(SubstitutionNodeRewriter(Shift(1.0, inplace=True), Shift(1.0))).rewrite(graph)
    assert [str(node.op) for node in graph.toposort()] == ["Shift(amount=1.0, inplace=False)", "Join"]
