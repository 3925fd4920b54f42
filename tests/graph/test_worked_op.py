"""An op written from the documentation alone, on values that are not numbers: playlists, lists of titles.

It has static parameters, several outputs, a default one, an in-place variant, a view, and it checks its inputs.
"""

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from treadle.config import config
from treadle.graph import (
    Apply,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    NodeIndexError,
    NodeTypeError,
    Op,
    Type,
    Variable,
    debugprint,
    equal_computations,
    get_test_value,
    graph_key,
    name_scope,
)
from treadle.link.vm import PythonLinker


class Playlist(Type):
    """Lists of titles."""

    __props__ = ()

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> list[str]:
        if not isinstance(data, list) or not all(isinstance(title, str) for title in data):
            msg = f"Playlist: a list of titles is needed, got {data!r}. Pass strings in a list."
            raise TypeError(msg)
        return data

    def __str__(self) -> str:
        return "Playlist"


PLAYLIST = Playlist()


class Cut(Op):
    """Cut a playlist in two: what comes before a position, and the rest.

    Parameters
    ----------
    at
        The position.
    inplace
        Whether the first part may be what is left of the list that was given.
    """

    __props__ = ("at", "inplace")
    default_output = 0

    def __init__(self, at: int, inplace: bool = False) -> None:
        if at < 0:
            msg = f"Cut: the position must be 0 or more, got {at}. Count from the beginning."
            raise ValueError(msg)
        self.at = at
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        (titles,) = inputs
        titles = PLAYLIST.filter_variable(titles)
        return Apply(self, [titles], [PLAYLIST(), PLAYLIST()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        (titles,) = inputs
        first, rest = output_storage
        if self.at > len(titles):
            msg = f"the position is {self.at}, but there are {len(titles)} titles"
            raise IndexError(msg)
        rest[0] = titles[self.at :]
        if self.inplace:
            del titles[self.at :]
            first[0] = titles
        else:
            first[0] = titles[: self.at]

    def inplace_on_inputs(self, allowed_inplace_inputs: Sequence[int]) -> Op:
        return Cut(self.at, inplace=True) if 0 in allowed_inplace_inputs else self


class Chained(Op):
    """Two playlists, one after the other; declared by its types."""

    __props__ = ()
    itypes = (PLAYLIST, PLAYLIST)
    otypes = (PLAYLIST,)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = [*inputs[0], *inputs[1]]


chained = Chained()


def run(inputs: list[Variable], outputs: list[Variable], *values: Any) -> list[Any]:
    return list(PythonLinker().link(FunctionGraph(inputs, outputs))(*values))


def test_default_output_is_what_a_call_returns() -> None:
    first = Cut(2)(PLAYLIST("titles"))
    assert first.index == 0
    assert first.owner.out is first
    assert [part.index for part in first.owner.outputs] == [0, 1]


def test_both_outputs_are_computed() -> None:
    titles = PLAYLIST("titles")
    first = Cut(1)(titles)
    assert run([titles], first.owner.outputs, ["a", "b", "c"]) == [["a"], ["b", "c"]]


def test_plain_list_becomes_a_constant() -> None:
    assert run([], [chained(Cut(1)(["x", "y"]), PLAYLIST.make_constant(["z"]))]) == [["x", "z"]]


def test_in_place_variant_computes_the_same_and_leaves_the_callers_list_alone() -> None:
    titles = PLAYLIST("titles")
    strings = ["a", "b", "c"]
    inplace = Cut(1).inplace_on_inputs([0])
    assert run([titles], inplace(titles).owner.outputs, strings) == [["a"], ["b", "c"]]
    assert strings == ["a", "b", "c"]


def test_in_place_variant_really_overwrites_a_value_that_nothing_else_needs() -> None:
    titles = PLAYLIST("titles")
    joined = chained(titles, titles)
    seen: list[Any] = []

    class Watched(Cut):
        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            super().perform(node, inputs, output_storage)
            seen.append(output_storage[0][0] is inputs[0])

    assert run([titles], [Watched(1, inplace=True)(joined)], ["a", "b"]) == [["a"]]
    assert seen == [True]


def test_value_that_is_needed_later_is_not_overwritten() -> None:
    titles = PLAYLIST("titles")
    joined = chained(titles, titles)
    parts = run([titles], [Cut(1, inplace=True)(joined), joined], ["a", "b"])
    assert parts == [["a"], ["a", "b", "a", "b"]]


def test_ops_with_equal_parameters_are_equal_in_every_process() -> None:
    assert Cut(2) == Cut(2)
    assert Cut(2) != Cut(2, inplace=True)
    assert Cut(1) != Cut(True)
    titles = PLAYLIST("titles")
    assert graph_key([titles], [Cut(2)(titles)]) == graph_key([titles], [Cut(2)(titles)])
    assert graph_key([titles], [Cut(2)(titles)]) != graph_key([titles], [Cut(3)(titles)])


def test_graph_pickles_with_op_type_and_constant() -> None:
    titles = PLAYLIST("titles")
    out = chained(Cut(2)(titles), PLAYLIST.make_constant(["end"]))
    loaded, loaded_titles = pickle.loads(pickle.dumps([out, titles]))
    assert equal_computations([loaded], [out], [loaded_titles], [titles])
    assert run([loaded_titles], [loaded], ["a", "b", "c"]) == [["a", "b", "end"]]


def test_graph_is_printed_with_names_and_parameters() -> None:
    titles = PLAYLIST("titles")
    text = str(debugprint(chained(Cut(2)(titles), titles), file="str"))
    assert "Chained" in text
    assert "Cut(at=2, inplace=False)" in text
    assert "titles" in text


def test_wrong_inputs_are_refused_with_what_is_needed() -> None:
    with pytest.raises(TypeError, match=r"a list of titles is needed, got 3\. Pass strings"):
        Cut(2)(3)
    with pytest.raises(ValueError, match=r"the position must be 0 or more, got -1"):
        Cut(-1)
    with pytest.raises(GraphValueError, match="2 inputs are needed, got 1"):
        chained(PLAYLIST("titles"))
    with pytest.raises(GraphTypeError, match=r"input 1 must be of type Playlist, got n of type"):
        chained(PLAYLIST("titles"), _Counted()("n"))


class _Counted(Type):
    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> int:
        return int(data)


def test_variable_of_another_type_is_refused_with_its_line() -> None:
    with pytest.raises(GraphTypeError, match=r"Playlist: a variable of this type is needed, got n of type _Counted"):
        Cut(2)(_Counted()("n"))


def test_failure_at_run_time_names_op_and_line() -> None:
    titles = PLAYLIST("titles")
    with name_scope("evening"):
        first = Cut(5)(titles)
    with pytest.raises(NodeIndexError) as caught:
        run([titles], [first], ["a"])
    assert str(caught.value).startswith("Cut(at=5, inplace=False): the position is 5, but there are 1 titles, built at")
    assert '"first = Cut(5)(titles)" in evening' in str(caught.value)


def test_test_values_run_along_and_point_at_the_line_that_does_not_fit() -> None:
    titles = PLAYLIST("titles")
    titles.tag.test_value = ["a", "b", "c"]
    with config.change_flags(compute_test_value="raise"):
        first = Cut(2, inplace=True)(titles)
        assert get_test_value(first) == ["a", "b"]
        assert get_test_value(first.owner.outputs[1]) == ["c"]
        assert titles.tag.test_value == ["a", "b", "c"]
        with pytest.raises(NodeIndexError, match=r"the position is 7.*Cut\(7\)\(titles\)"):
            Cut(7)(titles)


def test_value_of_the_wrong_kind_fails_with_the_natural_error() -> None:
    titles = PLAYLIST("titles")
    with pytest.raises(NodeTypeError, match=r"has no len"):
        run([titles], [Cut(0)(titles)], 3)
