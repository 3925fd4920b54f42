"""html_page: the data that a page holds."""

import importlib.util
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.graph.arithmetic import Arithmetic, add, chain, div_mod, mul, number, same
from treadle.config import TreadleError
from treadle.graph import (
    Apply,
    DrawingLibraryError,
    FunctionGraph,
    GraphTypeError,
    HasInnerGraph,
    Op,
    Variable,
    d3viz,
    html_comparison,
    html_fragment,
    html_page,
    name_scope,
    shared,
    write_html,
)

NASTY = '</script><img src=x onerror=alert(1)>{{data}}&"<!--'


def data_of(page: str) -> dict[str, Any]:
    """Return the data that a page holds."""
    scripts = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert len(scripts) == 1
    data: dict[str, Any] = json.loads(scripts[0])
    return data


def boxes_of(graph: Any, **options: Any) -> list[dict[str, Any]]:
    boxes: list[dict[str, Any]] = data_of(html_page(graph, **options))["graphs"][0]["graphs"][0]["boxes"]
    return boxes


class Nested(Arithmetic, HasInnerGraph):
    """An op with a graph of its own."""

    def __init__(self, inside: Any) -> None:
        x = number("inner")
        self._graph = FunctionGraph([x], [inside(x)], clone=False)

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
        output_storage[0][0] = inputs[0]


def test_small_graph_is_written_as_plain_data() -> None:
    x = number("x")
    with name_scope("a"), name_scope("b"):
        out = add(mul(x, 2.0), x)
    out.name = "out"
    data = data_of(html_page(out))["graphs"][0]
    line = data["lines"][0]
    assert (Path(line["file"]).name, line["text"]) == ("test_html.py", "out = add(mul(x, 2.0), x)")
    del data["lines"]
    assert data == {
        "name": "out",
        "ops": [
            {"name": "mul", "class": "Binary", "parameters": [["symbol", "'*'"]]},
            {"name": "add", "class": "Binary", "parameters": [["symbol", "'+'"]]},
        ],
        "types": [{"text": "Number(1)"}],
        "scopes": ["a/b"],
        "graphs": [
            {
                "boxes": [
                    {"kind": "input", "name": "x", "out": [[0]]},
                    {"kind": "constant", "name": "2.0", "out": [[0]]},
                    {"kind": "op", "op": 0, "in": [0, 0, 1, 0], "out": [[0]], "line": 0, "scope": 0},
                    {"kind": "op", "op": 1, "in": [2, 0, 0, 0], "out": [[0, "out"]], "line": 0, "scope": 0},
                    {"kind": "output", "in": [3, 0], "name": "out"},
                ],
                "inputs": [],
                "outputs": [4],
            }
        ],
    }


def test_kinds_of_leaves_are_told_apart() -> None:
    leaves = boxes_of([shared(1.0, name="state"), add(number("x"), 3.0)])
    assert {(box["kind"], box["name"]) for box in leaves if box["kind"] != "op"} == {
        ("shared", "state"),
        ("input", "x"),
        ("constant", "3.0"),
        ("output", "state"),
        ("output", "output 1"),
    }


def test_wire_names_the_output_it_comes_from() -> None:
    _, rest = div_mod(number("x"), number("y"))
    assert boxes_of(rest)[-1]["in"] == [2, 1]


def test_node_and_list_show_what_their_variables_do() -> None:
    out = add(number("x"), number("y"))
    assert boxes_of(out.owner) == boxes_of(out) == boxes_of([out]) == boxes_of([out.owner])


def test_graph_shows_inputs_that_are_not_used() -> None:
    x, y = number("x"), number("y")
    graph = FunctionGraph([x, y], [same(x)], clone=False)
    data = data_of(html_page(graph))["graphs"][0]["graphs"][0]
    assert [data["boxes"][i]["name"] for i in data["inputs"]] == ["x", "y"]


def test_output_that_updates_an_input_says_so() -> None:
    x, y = number("x"), number("state")
    graph = FunctionGraph([x, y], [same(x), add(x, y)], clone=False, update_mapping={1: 1})
    assert boxes_of(graph)[-1] == {"kind": "output", "in": [3, 0], "name": "state", "update": True}


def test_aliasing_of_an_op_is_shown() -> None:
    op = data_of(html_page(same(number("x"))))["graphs"][0]["ops"][0]
    assert op["views"] == "{0: [0]}"


def test_inner_graph_is_written_once_for_all_its_nodes() -> None:
    op = Nested(lambda v: add(v, 1.0))
    graphs = data_of(html_page(op(op(number("x")))))["graphs"][0]["graphs"]
    assert len(graphs) == 2
    assert [box["inner"] for box in graphs[0]["boxes"] if box["kind"] == "op"] == [1, 1]
    assert [box["kind"] for box in graphs[1]["boxes"]] == ["input", "constant", "op", "output"]


def test_graphs_nested_2000_deep_are_all_written() -> None:
    op: Any = mul
    innermost = Nested(lambda v: mul(v, v))
    op = innermost
    for _ in range(1_999):
        op = Nested(op)
    graphs = data_of(html_page(op(number("x"))))["graphs"][0]["graphs"]
    assert len(graphs) == 2_001


def test_profile_is_shown_by_node() -> None:
    first = same(number("x"))
    second = same(first)

    class Profile:
        apply_time = {("graph", first.owner): 0.5}  # noqa: RUF012 - as profiles have it

    assert [box.get("seconds") for box in boxes_of(second, profile={second.owner: 0.25})] == [None, None, 0.25, None]
    assert [box.get("seconds") for box in boxes_of(second, profile=Profile())] == [None, 0.5, None, None]


def test_profile_of_another_kind_is_refused() -> None:
    with pytest.raises(GraphTypeError, match="profile must map nodes to seconds, got 3"):
        html_page(number("x"), profile=3)


@pytest.mark.parametrize("wrong", [3, "x", [], [number(), 3], None])
def test_other_things_are_refused(wrong: Any) -> None:
    with pytest.raises(GraphTypeError, match="a variable, node, graph, function or list of variables is needed"):
        html_page(wrong)


def test_long_chain_is_written(length: int) -> None:
    boxes = boxes_of(chain(number("x"), length))
    assert len(boxes) == length + 2


def test_sum_of_many_inputs_is_written(width: int) -> None:
    class Many(Op):
        __props__ = ()

        def make_node(self, *inputs: Any) -> Apply:
            return Apply(self, inputs, [number()])

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0] = sum(inputs)

    assert len(boxes_of(Many()(*[number() for _ in range(width)]))) == width + 2


def test_op_whose_text_fails_is_shown_by_its_class() -> None:
    class Mute(Arithmetic):
        __props__ = ()

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0] = inputs[0]

        def __str__(self) -> str:
            msg = "no text"
            raise KeyError(msg)

    op = data_of(html_page(Mute()(number("x"))))["graphs"][0]["ops"][0]
    assert op["name"] == "<Mute: its text failed with KeyError>"


def test_names_cannot_leave_their_place_in_the_page() -> None:
    x = number(NASTY)
    with name_scope("<b>scope</b>"):
        out = same(x)
    out.name = NASTY
    plain = html_page(same(number("x")))
    page = html_page(out)
    assert NASTY not in page
    assert "<img" not in page
    assert page.count("</script") == plain.count("</script")
    assert page.count("<!--") == plain.count("<!--")
    assert data_of(page)["graphs"][0]["graphs"][0]["boxes"][0]["name"] == NASTY


def test_title_is_escaped_and_shown() -> None:
    page = html_page(number("x"), title="a < b & c")
    assert "<title>a &lt; b &amp; c</title>" in page
    assert data_of(page)["title"] == "a < b & c"


def test_page_names_no_address_to_load_from() -> None:
    page = html_page(same(number("x")))
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!data:,)[^"']*""", page) == []
    assert re.findall(r"@import|url\((?![\"']?#)", page) == []
    assert "default-src 'none'" in page


def test_page_keeps_the_licence_of_the_library() -> None:
    page = html_page(number("x"))
    assert "Lutz Roeder" in page
    assert "Permission is hereby granted, free of charge" in page


def test_file_is_written_under_both_names(tmp_path: Path) -> None:
    out = same(number("x"))
    write_html(out, tmp_path / "a.html", title="ñ")
    d3viz(out, str(tmp_path / "b.html"), copy_deps=False)
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == html_page(out, title="ñ")
    assert (tmp_path / "b.html").read_text(encoding="utf-8") == html_page(out)


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "netron" else find(name, *a))


@pytest.mark.usefixtures("no_library")
def test_missing_library_is_an_import_error_that_says_what_to_install() -> None:
    with pytest.raises(DrawingLibraryError, match=r"pip install --find-links DIR 'graph-core\[html\]'") as caught:
        html_page(number("x"))
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, TreadleError)


def test_library_of_another_shape_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dagre.js").write_text("export const other = 1;", encoding="utf-8")

    class Found(NamedTuple):
        submodule_search_locations: list[str]

    monkeypatch.setattr(importlib.util, "find_spec", lambda _: Found([str(tmp_path)]))
    with pytest.raises(DrawingLibraryError, match=r"dagre\.js of Netron \S+ is not a module that this version can use"):
        html_page(number("x"))


# Notebooks


def test_notebook_shows_the_page_in_a_frame_of_its_own() -> None:
    out = same(number("x"))
    fragment = out.show()._repr_html_()
    assert fragment.startswith('<iframe sandbox="allow-scripts" srcdoc="')
    assert "&lt;!doctype html&gt;" in fragment
    assert fragment.count("<") == 2


def test_notebook_shows_a_variable_in_one_line() -> None:
    x = number("<x>")
    assert x._repr_html_() == f"<code>&lt;x&gt;</code>: {x.type}"
    assert same(x)._repr_html_() == f"<code>Same.out</code>: {x.type}"


def test_page_of_a_graph_is_shown_by_a_notebook_and_written_to_a_file(tmp_path: Path) -> None:
    x = number("x")
    graph = FunctionGraph([x], [same(x)], clone=False)
    page = graph.show(height=300)
    assert page._repr_html_() == html_fragment(graph, height=300)
    assert repr(page) == f"<page of {graph}: a notebook shows it, save(path) writes it to a file>"
    page.save(tmp_path / "graph.html", title="named")
    assert (tmp_path / "graph.html").read_text(encoding="utf-8") == html_page(graph, title="named")


@pytest.mark.usefixtures("no_library")
def test_notebook_without_the_library_shows_text_and_names_the_extra() -> None:
    fragment = same(number("<b>")).show()._repr_html_()
    assert fragment.startswith("<pre>Same")
    assert "&lt;b&gt;" in fragment
    assert "pip install --find-links DIR &#x27;graph-core[html]&#x27;" in fragment


def test_notebook_shows_the_beginning_of_a_very_large_graph_as_text() -> None:
    fragment = chain(number("x"), 20_000).show()._repr_html_()
    assert "too many for a notebook: treadle.graph.write_html makes a file" in fragment
    assert len(fragment) < 100_000


# Before and after


class Firing(NamedTuple):
    rule: str
    op: Op | None
    user_line: Any


def rules_of(page: str) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = data_of(page)["rules"]
    return rules


def test_comparison_holds_both_graphs() -> None:
    x = number("x")
    data = data_of(html_comparison(add(x, x), mul(x, 2.0)))
    assert [graph["label"] for graph in data["graphs"]] == ["before", "after"]
    assert [graph["ops"][0]["name"] for graph in data["graphs"]] == ["add", "mul"]
    assert data["rules"] == []


def test_rule_is_matched_to_the_nodes_it_names() -> None:
    x = number("x")
    before, after = add(x, x), mul(x, 2.0)
    (rule,) = rules_of(html_comparison(before, after, [("double", before.owner, [after.owner])]))
    assert rule["rule"] == "double"
    (firing,) = rule["firings"]
    assert (firing["op"], firing["before"], firing["after"]) == ("add", [1], [2])
    assert firing["line"].startswith("test_html.py:")


def test_variable_stands_for_its_node_in_a_firing() -> None:
    x = number("x")
    before, after = add(x, x), mul(x, 2.0)
    (rule,) = rules_of(html_comparison(before, after, [("double", before, after)]))
    assert (rule["firings"][0]["before"], rule["firings"][0]["after"]) == ([1], [2])


def test_rule_that_names_no_node_is_matched_by_op_and_line() -> None:
    x = number("x")
    before = add(x, x)
    after = mul(x, 2.0)
    after.owner.user_line = before.owner.user_line
    (rule,) = rules_of(html_comparison(before, after, [Firing("double", before.owner.op, before.owner.user_line)]))
    assert (rule["firings"][0]["before"], rule["firings"][0]["after"]) == ([1], [2])


def test_firings_of_one_rule_come_together() -> None:
    x = number("x")

    class Report:
        firings = ("b", "a", Firing("b", None, None))

    rules = rules_of(html_comparison(x, x, Report()))
    assert [(rule["rule"], len(rule["firings"])) for rule in rules] == [("b", 2), ("a", 1)]


def test_name_that_no_file_can_hold_is_written_escaped(tmp_path: Path) -> None:
    write_html([add(number("half \udce9"), number("y"))], tmp_path / "page.html")
    assert "half \\udce9" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "half \udce9" in json.dumps(data_of((tmp_path / "page.html").read_text("utf-8")), ensure_ascii=False)
