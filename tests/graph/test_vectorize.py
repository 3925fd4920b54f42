"""vectorize_graph on values that are not arrays: rows, of which tables are batches."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from treadle.graph import (
    VECTORIZERS,
    Apply,
    DuplicateRegistrationError,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    Op,
    Print,
    Type,
    Variable,
    VectorizeError,
    VectorizerTable,
    name_scope,
    static_op,
    toposort,
    vectorize_graph,
    vectorize_node,
)
from treadle.graph.replace import _vectorize_node
from treadle.link.vm import PythonLinker


class Nested(Type):
    """Lists nested to some depth."""

    __props__ = ("dtype", "ndim")

    def __init__(self, ndim: int, dtype: str = "int") -> None:
        self.ndim = ndim
        self.dtype = dtype

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return data

    def __str__(self) -> str:
        return f"Nested({self.ndim})"


def mapped(function: Any, ndim: int, value: Any) -> Any:
    """Apply a function to the values `ndim` levels below."""
    return function(value) if ndim == 0 else [mapped(function, ndim - 1, v) for v in value]


@static_op
class Total(Op):
    """The sum of the innermost lists."""

    def infer(self, *types: Any) -> Sequence[Type]:
        return [Nested(types[0].ndim - 1)]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        kind: Any = node.inputs[0].type
        output_storage[0][0] = mapped(sum, kind.ndim - 1, inputs[0])


@static_op
class Ends(Op):
    """The first and the last element, with its own way to vectorise."""

    def infer(self, *types: Any) -> Sequence[Type]:
        return [Nested(types[0].ndim - 1)] * 2

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        kind: Any = node.inputs[0].type
        for cell, at in zip(output_storage, (0, -1), strict=True):
            cell[0] = mapped(lambda row, at=at: row[at], kind.ndim - 1, inputs[0])

    def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
        return self.make_node(*inputs)


@static_op
class Count(Op):
    """The number of elements of a row, which is the same for a whole batch."""

    level: int = 0

    def infer(self, *types: Any) -> Sequence[Type]:
        return [Nested(0)]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        row = inputs[0]
        for _ in range(self.level):
            row = row[0]
        output_storage[0][0] = len(row)


@static_op
class Plain(Op):
    """An op without a rule."""

    def infer(self, *types: Any) -> Sequence[Type]:
        return list(types)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]


class SpecialTotal(Total):
    """Found along the bases of its type."""


@VECTORIZERS.register(Total)
def vectorize_total(op: Total, node: Apply, x: Variable) -> Apply:
    assert node.op == op
    return op.make_node(x)


@VECTORIZERS.register(Count)
def vectorize_count(op: Count, node: Apply, x: Any) -> Variable:
    kind: Any = node.inputs[0].type
    result: Variable = Count(op.level + x.type.ndim - kind.ndim)(x)
    return result


total, ends, count, plain = Total(), Ends(), Count(), Plain()


def run(inputs: list[Variable], outputs: list[Variable], *values: Any) -> list[Any]:
    return list(PythonLinker().link(FunctionGraph(inputs, outputs))(*values))


ROW, TABLE = Nested(1), Nested(2)


def test_rule_of_the_op_type_is_used() -> None:
    row, table = ROW("row"), TABLE("table")
    batch = vectorize_graph(total(row), {row: table})
    assert batch.type == Nested(1)
    assert run([table], [batch], [[1, 2], [3, 4]]) == [[3, 7]]


def test_rule_is_found_along_the_bases() -> None:
    row, table = ROW("row"), TABLE("table")
    batch = vectorize_graph(SpecialTotal()(row), {row: table})
    assert type(batch.owner.op) is SpecialTotal


def test_own_method_of_the_op_wins() -> None:
    row, table = ROW("row"), TABLE("table")
    outs = vectorize_graph(ends(row), {row: table})
    assert run([table], outs, [[1, 2], [3, 4]]) == [[1, 3], [2, 4]]


def test_several_outputs_come_as_a_list_and_one_variable_as_one() -> None:
    row, table = ROW("row"), TABLE("table")
    assert isinstance(vectorize_graph(total(row), {row: table}), Variable)
    assert [type(v) for v in vectorize_graph([total(row)], {row: table})] == [Variable]


def test_replacements_may_be_pairs_and_may_be_inside_the_graph() -> None:
    outer, row, table = TABLE("outer"), ROW("row"), TABLE("table")
    middle = total(outer)
    batches = vectorize_graph([total(middle), middle], [(middle, table), (row, table)])
    assert batches[1] is table
    assert run([table], [batches[0]], [[1, 2], [3, 4]]) == [[3, 7]]


def test_what_does_not_depend_on_a_replacement_stays_as_it_is() -> None:
    row, other, table = ROW("row"), ROW("other"), TABLE("table")
    untouched = plain(total(other))
    outs = vectorize_graph([untouched, total(row), other], {row: table})
    assert outs[0] is untouched
    assert outs[2] is other


def test_what_is_the_same_for_the_batch_may_stay_without_batch() -> None:
    row, table = ROW("row"), TABLE("table")
    (length,) = vectorize_graph([count(row)], {row: table})
    assert length.type == Nested(0)
    assert run([table], [length], [[1, 2, 3], [4, 5, 6]]) == [3]


def test_all_ops_without_rule_are_listed_with_their_lines() -> None:
    row, table = ROW("row"), TABLE("table")
    first = plain(row)
    second = plain(total(first))
    with pytest.raises(VectorizeError) as caught:
        vectorize_graph([second, plain(ROW("unaffected"))], {row: table})
    lines = str(caught.value).splitlines()
    assert lines[0] == "vectorize_graph: no rule for"
    assert '"first = plain(row)"' in lines[1]
    assert '"second = plain(total(first))"' in lines[2]
    assert lines[3] == "Register one for Plain in VECTORIZERS, or define vectorize_node on the op."
    assert isinstance(caught.value, NotImplementedError)


def test_refusal_of_a_rule_names_op_and_line() -> None:
    class Refusing(Plain):
        def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
            msg = "rows of different lengths. Pad them"
            raise VectorizeError(msg)

    row, table = ROW("row"), TABLE("table")
    refused = Refusing()(row)
    with pytest.raises(VectorizeError, match=r'^Refusing: rows of .*Pad them, built at .* "refused = '):
        vectorize_graph(refused, {row: table})


def test_rule_with_the_wrong_number_of_outputs_is_refused() -> None:
    class Wrong(Ends):
        def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
            return total.make_node(*inputs)

    row, table = ROW("row"), TABLE("table")
    with pytest.raises(GraphValueError, match=r"returned 1 outputs instead of 2, built at .*Correct the rule"):
        vectorize_graph(Wrong()(row), {row: table})


def test_single_node_is_vectorised() -> None:
    row, table = ROW("row"), TABLE("table")
    node = total(row).owner
    assert [out.type for out in vectorize_node(node, table)] == [Nested(1)]
    with pytest.raises(GraphValueError, match="the node has 1 inputs, got 2"):
        vectorize_node(node, table, table)
    with pytest.raises(VectorizeError, match="no rule for"):
        vectorize_node(plain(row).owner, table)


def test_names_lines_and_scopes_are_kept() -> None:
    row, table = ROW("row"), TABLE("table")
    with name_scope("model"):
        out = total(row, name="sum")
    batch = vectorize_graph(out, {row: table})
    assert batch.name == "sum"
    assert batch.owner.user_line is out.owner.user_line
    assert batch.owner.scope == "model"


def test_second_rule_is_refused() -> None:
    with pytest.raises(DuplicateRegistrationError, match=r"Total has a rule already, tests\.graph.*vectorize_total"):
        VECTORIZERS.register(Total)(vectorize_total)


def test_results_are_completed_by_the_function_of_their_type() -> None:
    table_of_rules = VectorizerTable()
    seen: list[Any] = []

    class Row(Nested):
        pass

    @VECTORIZERS.register_completion(Row)
    def complete(old: Variable, new: Variable, replaced: Sequence[tuple[Variable, Variable]]) -> Variable:
        seen.append((old, new, list(replaced)))
        return new

    x, y, wide = Row(1)("x"), Row(1)("y"), Row(2)("wide")
    out = vectorize_graph([x, y], {x: wide})
    assert out == [wide, y]
    assert seen == [(x, wide, [(x, wide)])]
    with pytest.raises(DuplicateRegistrationError, match="Row has a rule already"):
        VECTORIZERS.register_completion(Row)(complete)
    assert table_of_rules.completion(ROW) is None


def test_rules_of_installed_packages_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def publish(table: VectorizerTable) -> None:
        seen.append(table)
        table.register(Plain)(vectorize_total)

    class Entry:
        def load(self) -> Any:
            return publish

    monkeypatch.setattr("treadle.graph.vectorization.discover", lambda group: {group: Entry()})
    table = VectorizerTable()
    assert table.op_types() == [Plain]
    assert table.find(plain) is vectorize_total
    assert table.find(total) is None
    assert seen == [table]


def test_wrong_replacements_are_refused() -> None:
    row = ROW("row")
    with pytest.raises(GraphTypeError, match=r"pairs \(old variable, new variable\) are needed, got \(row, 3\)"):
        vectorize_graph(total(row), {row: 3})  # type: ignore[dict-item]  # what the test is about
    with pytest.raises(GraphTypeError, match=r"must have the same element type, got other of type"):
        vectorize_graph(total(row), {row: Nested(2, "str")("other")})
    with pytest.raises(GraphTypeError, match=r"must have as many dimensions, or more in front, got flat of type"):
        vectorize_graph(total(row), {row: Nested(0)("flat")})


def test_values_shown_while_running_are_shown_as_batches() -> None:
    shown: list[Any] = []
    row, table = ROW("row"), TABLE("table")
    out = total(Print("row", global_fn=lambda _, value: shown.append(value))(row))
    assert run([table], [vectorize_graph(out, {row: table})], [[1, 2], [3, 4]]) == [[3, 7]]
    assert shown == [[[1, 2], [3, 4]]]


def test_long_chain_is_vectorised(length: int) -> None:
    class Link(Plain):
        def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
            return self.make_node(*inputs)

    link, row, table = Link(), ROW("row"), TABLE("table")
    out = row
    for _ in range(length):
        out = link(out)
    batch = vectorize_graph(out, {row: table})
    assert batch.type == TABLE
    assert len(toposort([batch])) == length


def test_node_with_many_inputs_is_vectorised(width: int) -> None:
    class Wide(Plain):
        def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
            return self.make_node(*inputs)

    rows = [ROW() for _ in range(width)]
    table = TABLE("table")
    batches = vectorize_graph(Wide()(*rows, return_list=True), {rows[-1]: table})
    assert batches[-1].type == TABLE
    assert batches[0].get_parents()[0].inputs[-1] is table


def test_rules_are_loaded_when_first_needed_only() -> None:
    program = "import sys, treadle.graph, treadle.tensor; print('treadle.tensor.vectorizers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_table_is_called_as_the_documented_function() -> None:
    class Summed(Op):
        """The sum of the innermost lists, of a class of its own."""

        def make_node(self, x: Any) -> Apply:
            return Apply(self, [x], [Nested(x.type.ndim - 1).make_variable()])

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0] = mapped(sum, node.outputs[0].type.ndim, inputs[0])  # type: ignore[attr-defined]  # it is nested

    node = Summed().make_node(Nested(1).make_variable("x"))
    wide = Nested(3).make_variable("wide")
    with pytest.raises(VectorizeError, match="Summed"):
        _vectorize_node(node.op, node, wide)

    @_vectorize_node.register(Summed)
    def sums(op: Any, node: Apply, x: Variable) -> Apply:
        del node
        batch_node: Apply = op.make_node(x)
        return batch_node

    batch_node: Any = _vectorize_node(node.op, node, wide)
    assert isinstance(batch_node, Apply)
    assert batch_node.inputs == [wide]
    assert batch_node.outputs[0].type == vectorize_node(node, wide)[0].type == Nested(2)
