"""LoweringTable."""

import pytest

from tests.graph.arithmetic import Binary, DivMod, Inverse, add, div_mod, inverse, number
from treadle.graph import DuplicateRegistrationError, LoweringError, LoweringTable


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


def test_missing_lists_nodes_without_a_rule(table: LoweringTable) -> None:
    x = number("x")
    nodes = [add(x, x).owner, inverse(x).owner]
    assert table.missing(nodes) == nodes[1:]
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
