"""LoweringTable, and ops in simpler ops."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.graph.arithmetic import Arithmetic, Binary, DivMod, Inverse, Number, add, div_mod, inverse, mul, number
from tests.graph.memory import add_into
from treadle.graph import (
    Apply,
    DestroyHandler,
    DuplicateRegistrationError,
    FunctionGraph,
    GraphTypeError,
    LoweringError,
    LoweringTable,
    MissingInputError,
    Op,
    Type,
    Unsupported,
    Variable,
    equal_computations,
    expand,
)


@pytest.fixture
def table() -> LoweringTable:
    lowerings = LoweringTable("nowhere")

    @lowerings.register(Binary)
    def binary() -> None:
        """Stand for a rule."""

    return lowerings


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
        table.lower([first, second], lower, [(second, Unsupported("it is on fire", "run, or register it in SUMS"))])
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert lines[1].endswith(": it is on fire; the sum is too large")
    assert lines[2].startswith("  Inverse of Number(1)")
    assert lines[3] == "Register a rule for Inverse, or run, or register it in SUMS, or pick another mode."


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
    simpler = expand(fgraph, lowers(Binary))
    assert equal_computations(simpler.outputs, [mul(mul(z := inverse(x), z), mul(z, z))], simpler.inputs, [x])
    assert [str(node.op) for node in fgraph.toposort()] == ["Inverse", "Fourth"]
    last = simpler.outputs[0].owner
    assert last is not None
    assert last.user_line == y.user_line
    assert last.where().startswith(", part of Fourth, built at test_lowering.py:")


def test_what_has_a_rule_or_no_simpler_form_stays() -> None:
    x = number("x")
    fgraph = FunctionGraph([x], [Square()(inverse(x))])
    assert expand(fgraph, lowers(Square)) is fgraph


def test_what_is_overwritten_is_read_before_in_the_expanded_graph_too() -> None:
    x = number("x")
    once = Square()(x)
    overwritten, read = add_into(once, x), inverse(once)
    fgraph = FunctionGraph([x], [overwritten, read])
    fgraph.attach_feature(DestroyHandler())
    for graph in (fgraph, expand(fgraph, lowers(Binary))):
        order = [str(node.op) for node in graph.toposort()]
        assert order.index("Inverse") < order.index("AddInto")


def test_an_op_that_cannot_be_lowered_altogether_stays_whole_where_asked() -> None:
    x = number("x")
    fgraph = FunctionGraph([x], [Fourth()(x), Square()(x)])

    def never(node: Apply) -> bool:
        return isinstance(node.op, Inverse)

    simpler = expand(fgraph, never, whole=True)
    assert [str(out.owner) for out in simpler.outputs] == [str(out.owner) for out in fgraph.outputs]
    simpler = expand(fgraph, lowers(Binary), whole=True)
    assert {type(node.op) for node in simpler.apply_nodes} == {Binary}


def expanded(decompose: Callable[[Variable], object]) -> FunctionGraph:
    class Some(Square):
        def decompose(self, *inputs: Variable) -> Sequence[Variable]:
            return decompose(inputs[0])  # type: ignore[return-value]  # wrong ones too

    x = number("x")
    return expand(FunctionGraph([x], [Some()(x)]), lowers(Binary))


@pytest.mark.parametrize(
    ("decompose", "shown"),
    [
        (lambda _: [Number("m").make_variable()], r"\[Number\(m\)\]"),
        (lambda x: [mul(x, x), x], r"\[Number\(1\), Number\(1\)\]"),
        (lambda _: [], r"\[\]"),
        (lambda _: [None], r"\[None\]"),
        (lambda x: mul(x, x), r"Number\(1\)"),
        (lambda _: 3, "3"),
    ],
)
def test_what_an_op_decomposes_into_is_a_list_of_variables_of_the_outputs_types(
    decompose: Callable[[Variable], object], shown: str
) -> None:
    wanted = r"Some: decompose must return a list of variables .*, \[Number\(1\)\]"
    with pytest.raises(GraphTypeError, match=f"{wanted}, got {shown}, built at"):
        expanded(decompose)


def test_an_op_may_decompose_into_its_input_or_a_more_specific_type() -> None:
    class Either(Number):
        def is_super(self, other: Type) -> bool:
            return isinstance(other, Number)

    simpler = expanded(lambda x: [x])
    assert simpler.outputs == simpler.inputs
    x = number("x")
    fgraph = FunctionGraph([x], [Apply(Square(), [x], [Either().make_variable()]).outputs[0]])
    simpler = expand(fgraph, lowers(Binary))
    assert equal_computations(simpler.outputs, [mul(x, x)], simpler.inputs, [x])


def test_an_op_that_decomposes_into_what_depends_on_other_variables_is_named() -> None:
    with pytest.raises(MissingInputError, match=r"Some: decompose uses free, which is neither an input .*, built at"):
        expanded(lambda x: [mul(x, number("free"))])
    with pytest.raises(MissingInputError, match="Some: decompose uses free"):
        expanded(lambda _: [number("free")])


def test_an_error_inside_decompose_names_the_op() -> None:
    def failing(x: Variable) -> Iterator[Variable]:
        yield x
        raise KeyError(x)

    with pytest.raises(KeyError) as caught:
        expanded(failing)
    assert caught.value.__notes__[0].startswith("Raised by Some.decompose of Some, built at")


class Selfish(Square):
    """A number of this op, expanded without end."""

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        return [add(Selfish()(inputs[0]), 0)]


class Endless(Square):
    """A number of this op, expanded into another that is expanded into this one, without end."""

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        return [Roundabout()(add(inputs[0], 0))]


class Roundabout(Square):
    """The other one of the pair."""

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        return [Endless()(inputs[0])]


@dataclass(frozen=True, eq=False)
class Power(Square):
    """A number taken several times."""

    exponent: int
    step: int = -1

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        if self.exponent == 0:
            return [inputs[0]]
        return [mul(Power(self.exponent + self.step, self.step)(inputs[0]), inputs[0])]


@pytest.mark.parametrize("whole", [False, True])
def test_an_op_that_decomposes_into_itself_is_named(whole: bool) -> None:
    x = number("x")
    with pytest.raises(GraphTypeError, match="Selfish: it decomposes into itself, built at"):
        expand(FunctionGraph([x], [Selfish()(x)]), lowers(Binary), whole=whole)
    with pytest.raises(GraphTypeError, match=r"Endless: it decomposes into itself through Roundabout, .*built at"):
        expand(FunctionGraph([x], [Endless()(x)]), lowers(Binary), whole=whole)
    with pytest.raises(GraphTypeError, match=r"Power\(.*: it decomposes into itself"):
        expand(FunctionGraph([x], [Power(1, 1)(x)]), lowers(Binary), whole=whole)
    simpler = expand(FunctionGraph([x], [Power(50)(x)]), lowers(Binary), whole=whole)
    assert len(simpler.toposort()) == 50


def test_each_op_is_decomposed_a_few_times_only() -> None:
    calls: list[int] = []

    class Counted(Power):
        def decompose(self, *inputs: Variable) -> Sequence[Variable]:
            calls.append(self.exponent)
            return [Counted(self.exponent - 1)(inputs[0])] if self.exponent else [mul(inputs[0], inputs[0])]

    x = number("x")
    expand(FunctionGraph([x], [Counted(30)(x)]), lowers(Binary), whole=True)
    assert len(calls) <= 2 * 31
