"""Index expressions: how they are parsed, and what is refused."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.tensor import At, IndexingError, Positions, Span, gather_plan
from treadle.tensor.index import SYMBOLIC, parse

CUBE = tt.tensor("x", dtype="float64", shape=(4, None, 5))
I = tt.lscalar("i")  # noqa: E741 - an index
V = tt.lvector("v")


@pytest.mark.parametrize(
    ("index", "entries"),
    [
        (0, (At(0), Span(), Span())),
        ((..., -1), (Span(), Span(), At(-1))),
        ((slice(1, None, 2), 3), (Span(1, None, 2), At(3), Span())),
        ((I, slice(I, None)), (At(SYMBOLIC), Span(SYMBOLIC), Span())),
        ((slice(None), V), (Span(), Positions(), Span())),
        (np.int8(2), (At(2), Span(), Span())),
        (np.array(2), (At(2), Span(), Span())),
        ([0, 1], (Positions(), Span(), Span())),
        (np.zeros((4, 3), bool), (Positions(), Positions(), Span())),
    ],
)
def test_index_is_split_into_static_entries(index: Any, entries: Any) -> None:
    assert parse(CUBE, index).entries == entries


def test_symbolic_parts_are_inputs_in_order() -> None:
    j = tt.lscalar("j")
    parsed = parse(CUBE, (slice(I, j), V, j))
    assert parsed.inputs == (I, j, V, j)
    assert not parsed.is_basic


def test_new_axes_are_counted_in_the_result() -> None:
    assert parse(CUBE, (None, 0, None, slice(None))).new_axes == (0, 1)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (4, "position 4 is out of bounds for dimension 0 of length 4"),
        ((0, 0, -6), "position -6 is out of bounds"),
        ((0, 0, 0, 0), "4 indices are too many"),
        ((..., ...), "one ellipsis"),
        (slice(None, None, 0), "step of a slice cannot be 0"),
        (1.5, "must be an integer scalar"),
        (tt.dscalar("f"), "must be an integer scalar"),
        (tt.dvector("f"), "positions must be integers"),
        (tt.tensor("m", dtype="bool", shape=(4,)), "mask must be known"),
        (True, "True and False are no indices"),
    ],
)
def test_wrong_index_is_refused(index: Any, said: str) -> None:
    with pytest.raises(IndexingError, match=said):
        CUBE[index]


def test_text_is_no_index() -> None:
    with pytest.raises((IndexingError, tt.TensorTypeError)):
        CUBE["a"]


@pytest.mark.parametrize(
    ("index", "place"), [((V,), 0), ((slice(None), V), 1), ((slice(None), V, V), 1), ((V, slice(None), V), 0)]
)
def test_plan_puts_picked_dimensions_where_numpy_does(index: Any, place: int) -> None:
    assert gather_plan(parse(CUBE, index).entries, [1, 1]).place == place


def test_full_slice_adds_nothing() -> None:
    assert CUBE[:] is CUBE
    assert CUBE[...] is CUBE


def test_writing_needs_an_indexed_tensor() -> None:
    with pytest.raises(IndexingError, match="must be an indexed tensor"):
        tt.set_subtensor(CUBE, 1.0)


def test_value_of_a_wider_dtype_is_refused() -> None:
    x = tt.lvector("x")
    with pytest.raises(tt.TensorTypeError, match="dtype float64 do not fit a tensor of dtype int64"):
        x[0].set(tt.dscalar())
