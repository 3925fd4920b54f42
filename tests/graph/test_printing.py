"""debugprint and related functions: graphs as trees of text."""

import io
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.graph.arithmetic import Arithmetic, add, chain, div_mod, mul, number, same
from treadle.graph import (
    Apply,
    Constant,
    Container,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    HasInnerGraph,
    SharedVariable,
    Variable,
    debugprint,
    dprint,
)
from treadle.graph.printing import char_from_number, get_node_by_id, min_informative_str, op_debug_information


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


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("CHAR", ["A", "B", "C"]), ("int", ["0", "1", "2"]), ("auto", ["auto_0", "auto_1", "auto_2"])],
)
def test_ids_are_letters_or_numbers(kind: str, shown: list[str]) -> None:
    lines = text(add(number("x"), number("y")), id_type=kind).splitlines()
    assert [line.partition("[id ")[2].rstrip("]") for line in lines] == shown


def test_ids_can_be_addresses() -> None:
    out = number("x")
    assert text(out, id_type="id") == f"x [id {hex(id(out))}]"


def test_unknown_id_type_is_refused() -> None:
    with pytest.raises(GraphValueError, match="id_type must be one of 'CHAR', 'int', 'id', 'auto', '', got 'char'"):
        text(number("x"), id_type="char")


def test_named_variables_can_end_the_tree() -> None:
    assert text(sample(), stop_on_name=True, id_type="") == (
        "add\n ├─ mul 'square'\n └─ mul\n     ├─ mul 'square'\n     └─ 2.0"
    )


def test_outputs_of_several_are_numbered() -> None:
    assert text(div_mod(number("x"), 2.0), id_type="").startswith("DivMod.0\n ├─ x\n └─ 2.0\nDivMod.1\n └─ ···")


def test_node_shows_all_its_outputs() -> None:
    node = div_mod(number("x"), 2.0)[0].owner
    assert text(node, id_type="") == "DivMod.0\n ├─ x\n └─ 2.0\nDivMod.1\n └─ ···"


def test_lists_may_be_nested_and_mixed() -> None:
    x = number("x")
    graph = FunctionGraph([x], [same(x)], clone=False)
    assert text([x, [(graph, x)]], id_type="") == "x\nSame 0\n └─ x\nx"


def test_maps_of_views_are_shown_on_demand() -> None:
    assert text(same(number("x")), print_view_map=True, id_type="") == "Same v={0: [0]}\n └─ x"


class Overwrite(Arithmetic):
    """An op that works in place."""

    __props__ = ()
    destroy_map = {0: [0]}  # noqa: RUF012 - as the documentation writes it

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]


def test_memory_map_shows_what_is_overwritten_and_what_is_aliased() -> None:
    out = Overwrite()(same(number("x")))
    shown = "Overwrite d={0: [0]}\n └─ Same v={0: [0]}\n     └─ x"
    assert text(out, print_memory_map=True, id_type="") == shown
    assert text(out, print_destroy_map=True, id_type="").splitlines()[1] == " └─ Same"


class Shaped:
    """Stands for a type with a shape."""

    shape = (2, None)

    def __str__(self) -> str:
        return "Shaped"


def test_static_shapes_are_shown_where_types_have_one() -> None:
    x = Variable(Shaped(), None, name="x")  # type: ignore[type-var]  # a stand-in
    assert text(x, print_shape=True, id_type="") == "x shape=(2, ?)"
    assert text(number("y"), print_shape=True, id_type="") == "y"


def test_values_of_shared_variables_are_shown_on_demand() -> None:
    kind = number().type
    state = SharedVariable(kind, 2.5, name="state")
    out = add(state, Constant(kind, 3.0))
    assert text(out, print_storage=True, id_type="") == "add\n ├─ state = 2.5\n └─ 3.0"
    assert text(out, id_type="") == "add\n ├─ state\n └─ 3.0"


class Compiled:
    """Stands for a compiled function, which keeps values of its inputs."""

    def __init__(self, fgraph: FunctionGraph, values: Mapping[Variable, Any]) -> None:
        self.maker = self
        self.fgraph = fgraph
        self._values = values

    def stored_values(self) -> Mapping[Variable, Any]:
        return self._values


def test_function_shows_the_values_that_it_keeps() -> None:
    x = number("x")
    function = Compiled(FunctionGraph([x], [same(x)], clone=False), {x: 7.0})
    assert text(function, print_storage=True, id_type="") == "Same 0\n └─ x = 7.0"


def test_long_values_are_cut_to_one_line() -> None:
    x = number("x")
    shown = text(Compiled(FunctionGraph([x], [x], clone=False), {x: "line\n" * 100}), print_storage=True)
    assert shown.startswith("x [id A] = line line")
    assert " … " in shown
    assert len(shown) < 80


def test_outputs_that_are_new_values_say_of_what() -> None:
    x, w = number("x"), number("w")
    graph = FunctionGraph([x, w], [x, add(w, x)], clone=False, update_mapping={1: 1})
    assert text(graph, id_type="") == "x\nadd 0 (new value of w)\n ├─ w\n └─ x"


def test_what_an_op_says_of_its_inputs_is_shown_on_demand() -> None:
    class Explained(Overwrite):
        pass

    @op_debug_information.register(Explained)
    def explain(op: Explained, node: Apply) -> Mapping[Variable, str]:
        return {node.inputs[0]: f"the divisor of {op}"}

    out = Explained()(number("x"))
    assert text(out, print_op_info=True, id_type="") == "Explained\n └─ x (the divisor of Explained)"
    assert text(out, id_type="") == "Explained\n └─ x"
    assert text(same(number("x")), print_op_info=True, id_type="") == "Same\n └─ x"


def test_lines_of_the_program_are_shown_on_demand() -> None:
    out = same(number("x"))
    assert f"Same at {out.user_line}\n" in text(out, print_lines=True, id_type="")
    assert str(out.user_line).startswith("test_printing.py:")


class Inner(Arithmetic, HasInnerGraph):
    """An op with a graph of its own."""

    def __init__(self, inside: Any = None) -> None:
        x = number("inner")
        self._graph = FunctionGraph([x], [mul(x, x) if inside is None else inside(x)], clone=False)

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


def test_inner_graph_used_twice_is_shown_once() -> None:
    op = Inner()
    shown = text(op(op(number("x"))), id_type="")
    assert shown.count("mul") == 1
    assert shown.startswith("Inner\n └─ Inner\n     └─ x\n")


def test_inner_graphs_of_inner_graphs_are_shown_too() -> None:
    innermost = Inner()
    shown = text(Inner(innermost)(number("x")), id_type="")
    assert shown == ("Inner\n └─ x\n\nInner graphs:\n\nInner\nInner\n └─ inner\n\nInner\nmul\n ├─ inner\n └─ inner")


def test_limited_depth_leaves_inner_graphs_out_unless_asked_for() -> None:
    out = Inner()(number("x"))
    assert text(out, id_type="", depth=3) == "Inner\n └─ x"
    assert "Inner graphs:" in text(out, id_type="", depth=3, print_inner_graphs=True)


def test_misspelt_choice_of_inner_graphs_is_refused() -> None:
    with pytest.raises(GraphValueError, match="print_inner_graphs must be True, False or 'auto', got 'all'"):
        text(number("x"), print_inner_graphs="all")


def test_inputs_of_graphs_can_be_listed_in_front() -> None:
    x, y = number("x"), number("y")
    graph = FunctionGraph([x, y], [Inner()(x)], clone=False)
    assert text(graph, id_type="", print_fgraph_inputs=True) == (
        " → x\n → y\nInner 0\n └─ x\n\nInner graphs:\n\nInner 0\n → inner\nmul\n ├─ inner\n └─ inner"
    )


def test_calls_can_share_what_was_shown_and_which_ids_were_given() -> None:
    out = sample()
    done: dict[Any, str] = {}
    ids: dict[Any, str] = {}
    text(out.owner.inputs[0], done=done, used_ids=ids)  # type: ignore[union-attr]  # it has an owner
    assert list(ids.values()) == ["A", "B"]
    assert list(done.values()) == ["mul [id A] 'square'"]
    assert text(out, done=done, used_ids=ids).splitlines()[:3] == [
        "add [id C]",
        " ├─ mul [id A] 'square'",
        " │   └─ ···",
    ]


def test_result_goes_to_a_file_or_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    target = io.StringIO()
    assert debugprint(number("x"), file=target) is target
    assert target.getvalue() == "x [id A]\n"
    # A notebook shows what the last line of a cell returns.
    assert debugprint(number("y")) is None
    assert capsys.readouterr().out == "y [id A]\n"


def test_variables_and_graphs_print_themselves() -> None:
    x = number("x")
    assert x.dprint(file="str", id_type="") == "x"
    assert FunctionGraph([x], [same(x)]).dprint(file="str", id_type="") == "Same 0\n └─ x"
    assert dprint(x, file="str") == "x [id A]"


def test_printing_is_loaded_when_it_is_asked_for() -> None:
    program = (
        "import sys, treadle.graph as g; before = 'treadle.graph.printing' in sys.modules; "
        "print(before, g.printing.debugprint is g.debugprint)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"


def test_labels_go_on_after_z() -> None:
    lines = text(chain(number("x"), 30)).splitlines()
    assert "[id Z]" in lines[25]
    assert "[id AA]" in lines[26]
    assert char_from_number(26 + 26 * 26) == "AAA"


def test_negative_number_has_no_label() -> None:
    with pytest.raises(GraphValueError, match="a number of 0 or more is needed, got -1"):
        char_from_number(-1)


def test_node_or_variable_is_found_by_its_id() -> None:
    out = sample()
    assert get_node_by_id(out, "B") is out.owner.inputs[0].owner  # type: ignore[union-attr]  # it has an owner
    variable = get_node_by_id([out], 2, id_types="int")
    assert isinstance(variable, Variable)
    assert variable.name == "x"
    assert get_node_by_id(out, "Z") is None


def test_short_text_tells_a_variable_by_its_nearest_names() -> None:
    assert min_informative_str(sample()) == "A. add\n B. square\n C. mul\n  <B>\n  D. 2.0"
    assert min_informative_str(div_mod(number("x"), 2.0)[1], indent_level=2) == "  A. DivMod.1\n   B. x\n   C. 2.0"


def test_other_things_are_refused() -> None:
    with pytest.raises(GraphTypeError, match="debugprint: a variable, node, graph, function or list"):
        debugprint(3)


def test_deep_graph_prints_a_line_for_each_node_without_a_triangle() -> None:
    shown = text(chain(number("x"), 5_000))
    assert len(shown.splitlines()) == 10_001
    assert max(map(len, shown.splitlines())) < 200


class Total(Arithmetic):
    """Sum of any number of inputs."""

    __props__ = ()

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = sum(inputs)


def test_long_chains_and_wide_sums_print_in_linear_size(length: int, width: int) -> None:
    deep = chain(number("x"), length)
    assert len(text(deep)) < 200 * length
    assert len(min_informative_str(deep)) < 200 * length
    assert get_node_by_id(deep, "A") is deep.owner
    wide = Total()(*[number(f"x{i}") for i in range(width)])
    assert len(text(wide).splitlines()) == width + 1
    assert len(min_informative_str(wide).splitlines()) == width + 1


def test_texts_of_variables_and_nodes_do_not_grow_with_the_graph(length: int) -> None:
    deep = chain(number("x"), length)
    assert str(deep) == "add.out"
    assert repr(deep.owner) == "add(add.out, x)"


def test_container_of_a_shared_variable_may_be_given() -> None:
    kind = number().type
    state = SharedVariable(kind, container=Container(kind, 4.0), name="state")
    assert text(state, print_storage=True, id_type="") == "state = 4.0"
