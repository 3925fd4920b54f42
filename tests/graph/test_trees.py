"""Trees: containers are taken apart and put together again, and what does not fit is refused with its path."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from treadle.graph import (
    DuplicateRegistrationError,
    GraphTypeError,
    GraphValueError,
    is_tree,
    register_tree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)


@dataclass(frozen=True)
class Layer:
    w: Any
    b: Any
    name: str = field(default="layer", metadata={"static": True})

    def __post_init__(self) -> None:
        assert not isinstance(self.w, str), "values are checked when they are given, not when a tree is rebuilt"


class Pair(NamedTuple):
    one: Any
    two: Any


class Box:
    def __init__(self, content: Any, label: str) -> None:
        self.content, self.label = content, label


register_tree_node(Box, lambda box: ((box.content,), box.label), lambda label, parts: Box(parts[0], label))

CONTAINERS: tuple[Any, ...] = ([], (), {}, Pair(1, 2), Layer(1, 2), Box(1, ""))
TREE = {"layer": Layer(1, [2, (3,)]), "pair": Pair(4, None), "rest": OrderedDict(z=5, a=6), "none": None, "empty": ()}
PATHS = ['t["layer"].w', 't["layer"].b[0]', 't["layer"].b[1][0]', 't["pair"].one', 't["rest"]["z"]', 't["rest"]["a"]']


def test_leaves_come_in_order_and_trees_are_put_together_again() -> None:
    leaves, form = tree_flatten(TREE)
    assert leaves == [1, 2, 3, 4, 5, 6]
    assert form.paths("t") == PATHS
    assert form.count == 6
    assert tree_unflatten(form, leaves) == TREE
    renamed = form.fill("abcdef")
    assert renamed["layer"].w == "a"
    assert renamed["pair"] == Pair("d", None)
    assert type(renamed["rest"]) is OrderedDict


def test_registered_classes_and_their_other_parts_belong_to_the_form() -> None:
    _, form = tree_flatten(Box([1, 2], "left"))
    filled = form.fill("ab")
    assert (filled.content, filled.label) == (["a", "b"], "left")
    with pytest.raises(GraphTypeError, match="expected an object of Box with 'left', got an object of Box"):
        form.leaves(Box([1, 2], "right"), "box")
    with pytest.raises(DuplicateRegistrationError, match="Box is registered already"):
        register_tree_node(Box, list, list)
    with pytest.raises(GraphTypeError, match="cls must be a class, got 3"):
        register_tree_node(3, list, list)  # type: ignore[arg-type]  # on purpose


def test_entries_of_dictionaries_may_come_in_any_order_and_lists_stand_for_tuples() -> None:
    form: Any
    _, form = tree_flatten({"a": 1, "b": (2, Pair(3, 4))})
    assert form.leaves({"b": [20, [30, 40]], "a": 10}, "x") == [10, 20, 30, 40]
    assert form.leaves(defaultdict(int, b=(20, (30, 40)), a=10), "x") == [10, 20, 30, 40]
    assert form.leaves({"a": None, "b": (2, None)}, "x", optional=True) == [None, 2, None, None]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({**TREE, "layer": 3}, r't\["layer"\]: expected an object of Layer .*, got 3'),
        ({**TREE, "layer": Layer(1, [2, 3])}, r't\["layer"\].b\[1\]: expected a tuple of 1, got 3'),
        ({**TREE, "layer": Layer(1, [2, (3,)], "other")}, r"expected an object of Layer with .*'layer'"),
        ({**TREE, "layer": Layer({}, [2, (3,)])}, r't\["layer"\].w: expected a value, got an empty dict'),
        ({**TREE, "pair": Pair(None, None)}, r't\["pair"\].one: expected a value, got None'),
        ({**TREE, "none": 1}, r't\["none"\]: expected None, got 1'),
        ({"layer": 3}, r't: expected a dict with the keys "layer", "pair".*, got a dict with the keys "layer"\.'),
    ],
)
def test_the_first_difference_is_told_with_its_path(other: Any, message: str) -> None:
    with pytest.raises(GraphTypeError, match=message):
        tree_flatten(TREE)[1].leaves(other, "t")


def test_maps_over_several_trees_and_counts_leaves() -> None:
    assert tree_map(lambda a, b: a - b, {"x": 3, "y": [4]}, {"y": [1], "x": 2}) == {"x": 1, "y": [3]}
    with pytest.raises(GraphTypeError, match=r'tree_map: tree 1\["y"\]: expected a list of 1'):
        tree_map(max, {"x": 3, "y": [4]}, {"x": 3, "y": 4})
    with pytest.raises(GraphValueError, match="expected 2 leaves, got 1"):
        tree_unflatten(tree_flatten([1, 2])[1], [1])


def test_what_is_no_container_is_a_leaf() -> None:
    assert [is_tree(x) for x in CONTAINERS] == [True] * 6
    assert [is_tree(x) for x in (1, "ab", None, Layer, {1, 2})] == [False] * 5
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(GraphValueError, match="nested more than 100 deep"):
        tree_leaves(endless)
