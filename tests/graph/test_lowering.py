"""LoweringTable, and ops in simpler ops."""

from collections.abc import Callable, Sequence

import pytest

from tests.graph.arithmetic import Arithmetic, Binary, DivMod, Inverse, Number, add, div_mod, inverse, mul, number
from treadle.graph import (
    Apply,
    DuplicateRegistrationError,
    FunctionGraph,
    GraphTypeError,
    LoweringError,
    LoweringTable,
    Op,
    Unsupported,
    Variable,
    equal_computations,
    expand,
)


@pytest.fixture
def table() -> LoweringTable:
    made = LoweringTable("nowhere")

    @made.register(Binary)
    def binary() -> None:
        """Stand for a rule."""

    return made


def test_second_rule_for_an_op_type_is_refused(table: LoweringTable) -> None:
    with pytest.raises(DuplicateRegistrationError, match=r"nowhere: Binary has a lowering already, .*binary"):
        table.register(Inverse, Binary)(print)


def test_rule_is_found_along_the_bases(table: LoweringTable) -> None:
    class Base(Inverse):
        pass

    class Special(Base):
        pass

    rule = table.register(Base)(len)
    assert table.find(Special()) is rule
    assert table.find(add) is not rule
    own = table.register(Special)(sum)
    assert table.find(Special()) is own


def test_an_op_without_a_rule_is_unsupported(table: LoweringTable) -> None:
    with pytest.raises(Unsupported, match="there is no rule for the op"):
        table.rule(inverse(number("x")).owner)
    assert table.op_types() == [Binary]


def test_check_lists_every_gap_with_types_and_lines(table: LoweringTable) -> None:
    x = number("x")
    first = inverse(x)
    second = div_mod(x, x)[0]
    with pytest.raises(LoweringError) as caught:
        table.check([first.owner, add(x, x).owner, second.owner])
    lines = str(caught.value).splitlines()
    assert lines[0] == "nowhere: no lowering for"
    assert lines[1].startswith("  Inverse of Number(1), built at test_lowering.py:")
    assert lines[1].endswith('"first = inverse(x)"')
    assert lines[2].startswith("  DivMod of Number(1), Number(1), built at test_lowering.py:")
    assert lines[3] == "Register a rule for DivMod, Inverse, or pick another mode."


def test_check_accepts_a_graph_that_is_covered(table: LoweringTable) -> None:
    table.register(DivMod)(print)
    x = number("x")
    table.check([add(x, x).owner, div_mod(x, x)[0].owner])


def test_each_node_is_listed_once_with_reasons_and_remedies(table: LoweringTable) -> None:
    x = number("x")
    first, second = inverse(x).owner, add(x, x).owner

    def lower(node: Apply) -> None:
        table.rule(node)
        msg = "the sum is too large"
        raise Unsupported(msg, "register it in SUMS")

    with pytest.raises(LoweringError) as caught:
        table.lower([first, second], lower, [(second, Unsupported("it is on fire"))])
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert lines[1].endswith(": it is on fire; the sum is too large")
    assert lines[2].startswith("  Inverse of Number(1)")
    assert lines[3] == "Register a rule for Inverse, or register it in SUMS, or pick another mode."


class Square(Arithmetic):
    """A number times itself."""

    __props__ = ()

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        return [mul(inputs[0], inputs[0])]

    def perform(self, node: Apply, inputs: Sequence[float], output_storage: Sequence[list[float]]) -> None:
        output_storage[0][0] = inputs[0] ** 2


class Fourth(Square):
    """A square's square."""

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        return [Square()(Square()(inputs[0]))]


def lowers(*op_types: type[Op]) -> Callable[[Apply], bool]:
    return lambda node: isinstance(node.op, op_types)


def test_ops_without_a_rule_are_given_by_simpler_ones_and_these_again() -> None:
    x = number("x")
    y = Fourth()(inverse(x))  # the line
    fgraph = FunctionGraph([x], [y])
    made = expand(fgraph, lowers(Binary))
    assert equal_computations(made.outputs, [mul(mul(z := inverse(x), z), mul(z, z))], made.inputs, [x])
    assert [str(node.op) for node in fgraph.toposort()] == ["Inverse", "Fourth"]
    last = made.outputs[0].owner
    assert last is not None
    assert last.user_line == y.user_line
    assert last.where().startswith(", part of Fourth, built at test_lowering.py:")


def test_what_has_a_rule_or_no_simpler_form_stays() -> None:
    x = number("x")
    fgraph = FunctionGraph([x], [Square()(inverse(x))])
    assert expand(fgraph, lowers(Square)) is fgraph


def test_an_op_that_cannot_be_lowered_altogether_stays_whole_where_asked() -> None:
    x = number("x")
    fgraph = FunctionGraph([x], [Fourth()(x), Square()(x)])

    def never(node: Apply) -> bool:
        return isinstance(node.op, Inverse)

    made = expand(fgraph, never, whole=True)
    assert [str(out.owner) for out in made.outputs] == [str(out.owner) for out in fgraph.outputs]
    made = expand(fgraph, lowers(Binary), whole=True)
    assert {type(node.op) for node in made.apply_nodes} == {Binary}


def test_an_op_that_decomposes_into_other_types_or_itself_is_named() -> None:
    class Wrong(Square):
        def decompose(self, *inputs: Variable) -> Sequence[Variable]:
            return [Number("m").make_variable()]

    class Endless(Square):
        def decompose(self, *inputs: Variable) -> Sequence[Variable]:
            return [add(Endless()(inputs[0]), 0)]

    class Failing(Square):
        def decompose(self, *inputs: Variable) -> Sequence[Variable]:
            raise KeyError(self)

    x = number("x")

    def expanded(op: Op) -> None:
        expand(FunctionGraph([x], [op(x)]), lowers(Binary))

    with pytest.raises(GraphTypeError, match=r"Wrong: decompose must return .* Number\(1\), got Number\(m\), built at"):
        expanded(Wrong())
    with pytest.raises(GraphTypeError, match="Endless: it decomposes into itself, built at"):
        expanded(Endless())
    with pytest.raises(KeyError) as caught:
        expanded(Failing())
    assert caught.value.__notes__[0].startswith("Raised by Failing.decompose of Failing, built at")
