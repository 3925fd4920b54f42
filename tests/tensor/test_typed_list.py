"""Lists as values of graphs."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.surface.values import typed_list as tl

LIST = tl.TypedListType(tt.TensorType("float64", (None,)))
VALUES = [np.array([1.0, 2.0]), np.array([3.0]), np.array([3.0])]


def shown(items: Any) -> list[list[float]]:
    return [np.asarray(x).tolist() for x in items]


@pytest.mark.parametrize("mode", ["VM", "CVM"])
def test_lists_are_changed_as_those_of_python(mode: str) -> None:
    x, v = LIST("x"), tt.dvector("v")
    lists = [x.append(v), x.extend(x), x.insert(1, v), x.remove(v), x.reverse(), x[1:]]
    f = function([x, v], lists, mode=mode)
    a, b, c = ([1.0, 2.0], [3.0], [3.0])
    assert [shown(items) for items in f(VALUES, [3.0])] == [
        [a, b, c, [3.0]],
        [a, b, c, a, b, c],
        [a, [3.0], b, c],
        [a, c],
        [c, b, a],
        [b, c],
    ]


def test_elements_positions_and_numbers() -> None:
    x, v, i = LIST("x"), tt.dvector("v"), tt.lscalar("i")
    f = function([x, v, i], [x[i], x.count(v), x.ind(v), tl.length(x)], mode="VM")
    element, number, at, size = f(VALUES, [3.0], 0)
    assert element.tolist() == [1.0, 2.0]
    assert (int(number), int(at), int(size)) == (2, 1, 3)
    with pytest.raises(ValueError, match="no element of the list equals the value"):
        f(VALUES, [9.0], 0)


def test_list_is_made_of_variables() -> None:
    x, y = tt.dvector("x"), tt.tensor("y", dtype="float64", shape=(2,))
    variable = tl.make_list(x, y)
    assert variable.type == LIST
    assert shown(function([x, y], variable, mode="VM")([1.0], [2.0, 3.0])) == [[1.0], [2.0, 3.0]]


def test_lists_of_lists() -> None:
    nested = tl.TypedListType(tt.TensorType("float64", ()), depth=1)
    assert nested.ttype == tl.TypedListType(tt.TensorType("float64", ()))
    x = nested("x")
    first = function([x], x[0], mode="VM")([[1.0, 2.0], []])
    assert [float(number) for number in first] == [1.0, 2.0]


def test_what_does_not_fit_is_refused() -> None:
    x = LIST("x")
    with pytest.raises(TypeError, match="known when the graph is built"):
        len(x)
    with pytest.raises(TypeError):
        x.append(tt.dmatrix())
    with pytest.raises(TypeError, match="a position is an integer"):
        x[tt.dscalar()]
    with pytest.raises(TypeError, match="elements of one type"):
        tl.make_list(tt.dvector(), tt.dmatrix())
    with pytest.raises(TypeError, match="a list is needed"):
        LIST.filter(3)
    with pytest.raises(TypeError, match="TypedListType is needed"):
        tl.length(tt.dvector())
    with pytest.raises(TypeError, match="depth >= 0"):
        tl.TypedListType(tt.TensorType("float64", ()), -1)
