"""Graphs in the language of Graphviz, and pictures drawn from it."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, Arithmetic, add, chain, div_mod, mul, number, same
from tests.graph.test_printing import Compiled, Inner, Total
from treadle.graph import (
    Apply,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    SharedVariable,
    Variable,
    dot_text,
    name_scope,
    pydotprint,
)
from treadle.graph.printing import MissingProgramError, PictureError

GOLDEN = """\
digraph G {
  v0 [label="x Number(1)", shape=box, style=filled, fillcolor="#9ecae1"];
  v1 [label="2.0 Number(1)", shape=box, style=filled, fillcolor="#d9d9d9"];
  n3 [label="mul", shape=ellipse, style=filled, fillcolor="#f7f7f7"];
  n4 [label="add", shape=ellipse, style=filled, fillcolor="#f7f7f7"];
  v2 [label="out Number(1)", shape=box, style=filled, fillcolor="#fdae6b"];
  v0 -> n3 [label="0"];
  v1 -> n3 [label="1"];
  n3 -> n4 [label="0 Number(1)"];
  v0 -> n4 [label="1"];
  n4 -> v2;
}
"""


def sample() -> Variable:
    x = number("x")
    out: Variable = add(mul(x, 2.0), x, name="out")
    return out


def labels(text: str) -> list[str]:
    return re.findall(r'label="((?:[^"\\]|\\.)*)"', text)


def test_text_of_a_small_graph() -> None:
    assert dot_text(sample()) == GOLDEN


def test_text_is_the_same_for_an_equal_graph() -> None:
    assert dot_text(sample()) == dot_text(FunctionGraph(outputs=[sample()]))


def test_every_value_has_a_box_unless_compact() -> None:
    full = dot_text(sample(), compact=False)
    assert full.count("shape=box") == 4
    assert full.count("->") == 6
    assert dot_text(sample()).count("shape=box") == 3


def test_named_values_have_a_box_of_their_own() -> None:
    middle = mul(number("x"), 2.0, name="middle")
    assert "middle Number(1)" in labels(dot_text(same(middle)))


def test_quotes_backslashes_and_new_lines_are_escaped() -> None:
    text = dot_text(number('say "hi"\\ twice\nor\x07 über 漢字'), max_label_size=200)
    assert '[label="say \\"hi\\"\\\\ twice\\nor\\\\x07 über 漢字 Number(1)", shape=box' in text
    assert text.count("\n") == 3


def test_label_that_is_too_long_is_cut() -> None:
    assert labels(dot_text(number("x" * 100), max_label_size=10)) == ["x" * 9 + "…"]


def test_names_can_stand_without_types() -> None:
    graph = [sample(), NUMBER.make_constant(1.0, "one")]
    assert {"x", "out", "one{1.0}"} <= set(labels(dot_text(graph, var_with_name_simple=True)))


def test_ops_can_show_their_position() -> None:
    assert {"mul id=0", "add id=1"} <= set(labels(dot_text(sample(), with_ids=True)))


def test_colours_fill_boxes_or_draw_their_borders() -> None:
    assert "style=filled" not in dot_text(sample(), high_contrast=False)
    assert 'color="#9ecae1"' in dot_text(sample(), high_contrast=False)
    assert 'fillcolor="pink"' in dot_text(sample(), color_codes={"Binary": "pink"})


def test_shared_unused_and_updated_variables_have_colours_of_their_own() -> None:
    state = SharedVariable(NUMBER, 1.0, name="state")
    unused = number("unused")
    graph = FunctionGraph([state, unused], [add(state, 1.0)], clone=False, update_mapping={0: 0})
    text = dot_text(Compiled(graph, {}))
    assert 'label="state Number(1)", shape=box, style=filled, fillcolor="#a1d99b"' in text
    assert 'label="unused Number(1)", shape=box, style=filled, fillcolor="#f4a6a6"' in text
    assert 'label="Number(1) (new value of state)", shape=box, style=filled, fillcolor="#fdd0a2"' in text


def test_outputs_of_several_are_numbered_on_edges() -> None:
    quotient, rest = div_mod(number("x"), 2.0)
    text = dot_text(add(quotient, rest))
    assert {"0 (output 0) Number(1)", "1 (output 1) Number(1)"} <= set(labels(text))
    assert {"0", "1"} <= set(labels(dot_text([quotient, rest])))


def test_name_scopes_are_nested_frames() -> None:
    x = number("x")
    with name_scope("model"):
        x = same(x)
        with name_scope("encoder"):
            x = same(x)
        x = same(x)
    with name_scope("loss"):
        x = same(x)
    structure = [
        line for line in dot_text(same(x)).splitlines() if re.search(r"subgraph|\}|^ *label|label=\"Same", line)
    ]
    shown = [re.sub(r".*label=\"?(\w+).*", r"\1", line).strip() for line in structure]
    assert shown == [
        *("Same",),
        *("subgraph cluster_1 {", "model", "Same", "Same", "subgraph cluster_2 {", "encoder", "Same", "}", "}"),
        *("subgraph cluster_3 {", "loss", "Same", "}", "}"),
    ]


def test_scope_without_nodes_of_its_own_is_a_frame_too() -> None:
    with name_scope("outer"), name_scope("inner"):
        out = same(number("x"))
    text = dot_text(out)
    assert labels(text)[1:3] == ["outer", "inner"]
    assert text.count("{") == text.count("}") == 3


def test_inner_graphs_are_drawn_on_demand_each_once() -> None:
    op = Inner(Inner())
    out = op(op(number("x")))
    assert "inside Inner" not in labels(dot_text(out))
    text = dot_text(out, inner_graphs=True)
    assert labels(text).count("inside Inner") == 2
    assert labels(text).count("mul") == 1


class IfElse(Arithmetic):
    """Chooses between values."""

    __props__ = ()

    def infer(self, *types: Any) -> Sequence[Any]:
        return [types[1]]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[1] if inputs[0] else inputs[2]


def test_branches_of_a_choice_can_be_told_apart() -> None:
    x, y = number("x"), number("y")
    both = mul(x, y)
    chosen = IfElse()(x, add(both, 1.0), same(both))
    for wanted in (True, "IfElse", chosen, chosen.owner):
        text = dot_text(same(chosen), cond_highlight=wanted)
        assert re.findall(r'label="(\w+)", shape=ellipse.*penwidth=3', text) == ["mul", "add", "Same"]
        assert re.findall(r'color="(#\w+)", penwidth=3', text) == ["#984ea3", "#377eb8", "#e41a1c"]


def test_choice_that_is_not_there_is_refused() -> None:
    with pytest.raises(GraphValueError, match="one node that chooses between branches is needed, got True"):
        dot_text(sample(), cond_highlight=True)


def test_long_chains_and_wide_sums_make_texts_of_linear_size(length: int, width: int) -> None:
    with name_scope("chain"):
        deep = chain(number("x"), length)
    assert dot_text(deep).count("\n") == 3 * length + 8
    wide = Total()(*[number(f"x{i}") for i in range(width)])
    assert dot_text(wide).count("\n") == 2 * width + 5


def test_text_can_be_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "graph.dot"
    assert pydotprint(sample(), path) is None
    assert path.read_text(encoding="utf-8") == GOLDEN
    assert capsys.readouterr().out == f"The graph is drawn in {path}\n"
    pydotprint(sample(), str(tmp_path / "other.gv"), print_output_file=False, var_with_name_simple=True)
    assert capsys.readouterr().out == ""
    assert (tmp_path / "other.gv").stat().st_size > 0


def program(folder: Path, text: str) -> None:
    """Put a program that stands for Graphviz's into a folder."""
    path = folder / "dot"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


posix = pytest.mark.skipif(os.name != "posix", reason="the stand-in for Graphviz is a shell script")


@posix
def test_pictures_are_drawn_by_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, 'echo "drawn as $1 from:"; while read -r line; do echo "$line"; done')
    monkeypatch.setenv("PATH", str(tmp_path))
    pydotprint(sample(), tmp_path / "graph.svg", format="png", print_output_file=False)
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8").startswith("drawn as -Tsvg from:\ndigraph G {\n")
    pydotprint(sample(), tmp_path / "noending", format="pdf", print_output_file=False)
    assert (tmp_path / "noending.pdf").read_text(encoding="utf-8").startswith("drawn as -Tpdf")
    picture = pydotprint(sample(), return_image=True)
    assert picture is not None
    assert picture.startswith(b"drawn as -Tpng")
    monkeypatch.chdir(tmp_path)
    pydotprint(sample(), print_output_file=False)
    assert (tmp_path / "graph.png").is_file()


@posix
def test_failure_of_the_program_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "echo 'Format: xyz not recognized' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PictureError, match="'xyz' could not be drawn: Format: xyz not recognized"):
        pydotprint(sample(), tmp_path / "graph.xyz")


def test_missing_program_is_named_with_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingProgramError, match="apt-get install graphviz"):
        pydotprint(sample(), tmp_path / "graph.png")


def test_file_that_is_not_a_path_is_refused() -> None:
    with pytest.raises(GraphTypeError, match="outfile must be a path, got 3"):
        pydotprint(sample(), 3)
