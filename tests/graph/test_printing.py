"""debugprint."""

import io
from collections.abc import Sequence
from typing import Any

import pytest

from tests.graph.arithmetic import Arithmetic, add, chain, div_mod, mul, number, same
from treadle.graph import Apply, FunctionGraph, GraphTypeError, HasInnerGraph, Variable, debugprint


def text(graph: Any, **options: Any) -> str:
    return str(debugprint(graph, file="str", **options))


def sample() -> Variable:
    x = number("x")
    square = mul(x, x, name="square")
    out: Variable = add(square, mul(square, 2.0))
    return out


def test_tree_shows_each_node_once() -> None:
    assert (
        text(sample())
        == """\
add [id A]
 ├─ mul [id B] 'square'
 │   ├─ x [id C]
 │   └─ x [id C]
 └─ mul [id D]
     ├─ mul [id B] 'square'
     │   └─ ···
     └─ 2.0 [id E]"""
    )


def test_graph_shows_the_order_of_evaluation() -> None:
    out = sample()
    assert (
        text(FunctionGraph(outputs=[out], clone=False))
        == """\
add [id A] 2
 ├─ mul [id B] 'square' 0
 │   ├─ x [id C]
 │   └─ x [id C]
 └─ mul [id D] 1
     ├─ mul [id B] 'square' 0
     │   └─ ···
     └─ 2.0 [id E]"""
    )


def test_depth_types_and_ids_are_options() -> None:
    assert text(sample(), depth=1, print_type=True, id_type="") == "add <Number(1)>"
    assert text(sample(), depth=2, id_type="") == "add\n ├─ mul 'square'\n └─ mul"
    assert hex(id(out := number("x"))) in text(out, id_type="id")


def test_named_variables_can_end_the_tree() -> None:
    assert text(sample(), stop_on_name=True, id_type="") == (
        "add\n ├─ mul 'square'\n └─ mul\n     ├─ mul 'square'\n     └─ 2.0"
    )


def test_outputs_of_several_are_numbered() -> None:
    assert text(div_mod(number("x"), 2.0), id_type="").startswith("DivMod.0\n ├─ x\n └─ 2.0\nDivMod.1\n └─ ···")


def test_maps_of_views_are_shown_on_demand() -> None:
    assert text(same(number("x")), print_view_map=True, id_type="") == "Same v={0: [0]}\n └─ x"


class Inner(Arithmetic, HasInnerGraph):
    """An op with a graph of its own."""

    def __init__(self) -> None:
        x = number("inner")
        self._graph = FunctionGraph([x], [mul(x, x)], clone=False)

    @property
    def fgraph(self) -> FunctionGraph:
        return self._graph

    @property
    def inner_inputs(self) -> list[Variable]:
        return self._graph.inputs

    @property
    def inner_outputs(self) -> list[Variable]:
        return self._graph.outputs

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] ** 2


def test_inner_graphs_follow_the_outer_one() -> None:
    out = Inner()(number("x"))
    assert text(out, id_type="") == "Inner\n └─ x\n\nInner graphs:\n\nInner\nmul\n ├─ inner\n └─ inner"
    assert text(out, id_type="", print_inner_graphs=False) == "Inner\n └─ x"


def test_result_goes_to_a_file_or_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    target = io.StringIO()
    assert debugprint(number("x"), file=target) is target
    assert target.getvalue() == "x [id A]\n"
    debugprint(number("y"))
    assert capsys.readouterr().out == "y [id A]\n"


def test_labels_go_on_after_z() -> None:
    lines = text(chain(number("x"), 30)).splitlines()
    assert "[id Z]" in lines[25]
    assert "[id AA]" in lines[26]


def test_other_things_are_refused() -> None:
    with pytest.raises(GraphTypeError, match="debugprint: a variable, node, graph, function or list"):
        debugprint(3)


def test_deep_graph_prints_a_line_for_each_node_without_a_triangle() -> None:
    shown = text(chain(number("x"), 5_000))
    assert len(shown.splitlines()) == 10_001
    assert max(map(len, shown.splitlines())) < 200
