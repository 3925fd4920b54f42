"""Index entries one after another: compared with Python's own slices, over all small ranges."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import treadle.tensor as tt
from treadle.tensor.indexing.rules.index_algebra import Point, Stretch, canonical, followed, is_whole

BOUNDS = (None, -5, -3, -2, -1, 0, 1, 2, 3, 5)
STEPS = (None, 1, 2, -1, -2)
INNER = [Stretch(a, b, c) for a, b, c in product(BOUNDS, BOUNDS, STEPS)]
OUTER: list[Any] = [
    *(Stretch(a, b, c) for a, b, c in product((None, -2, -1, 0, 1, 3), (None, -2, -1, 0, 2), (None, 2, -1))),
    *(Point(i) for i in range(-4, 5)),
]
OUT_OF_BOUNDS = "out of bounds"


def pick(numbers: Any, item: Any) -> Any:
    """Return what an index item picks from a list."""
    if isinstance(item, Point):
        at: Any = item.at
        return numbers[at] if -len(numbers) <= at < len(numbers) else OUT_OF_BOUNDS
    return numbers[slice(item.start, item.stop, item.step)]


def test_canonical_slice_takes_the_same_from_every_length() -> None:
    for item in INNER:
        for n in range(6):
            numbers = list(range(n))
            assert pick(numbers, canonical(item, n)) == pick(numbers, item)
            assert pick(numbers, canonical(item, None)) == pick(numbers, item)


def test_equal_slices_of_one_length_have_one_canonical_form() -> None:
    for n in range(5):
        forms: dict[tuple[int, ...], set[Any]] = {}
        for item in INNER:
            form: Any = canonical(item, n)
            forms.setdefault(tuple(pick(list(range(n)), item)), set()).add((form.start, form.stop, form.step))
        assert all(len(same_elements) == 1 for same_elements in forms.values())


def test_whole_slice_is_known_as_such() -> None:
    for item in INNER:
        for n in range(1, 5):
            assert is_whole(item, n) == (pick(list(range(n)), item) == list(range(n)))
        if is_whole(item, None):
            assert all(pick(list(range(n)), item) == list(range(n)) for n in range(6))


@pytest.mark.parametrize("known", [True, False])
def test_two_indices_are_one_for_every_length(known: bool) -> None:
    count = 0
    for inner, outer in product(INNER, OUTER):
        for n in (0, 1, 3, 4) if known else (None,):
            one = followed(inner, outer, n)
            if one is None:
                continue
            count += 1
            for length in (n,) if n is not None else range(7):
                numbers = list(range(length))
                assert pick(numbers, one) == pick(pick(numbers, inner), outer), (inner, outer, length, one)
    # Most pairs where the length is known, a part of them where it is not: the loop above did test something.
    assert count > (3 if known else 0.08) * len(INNER) * len(OUTER)


def test_positions_after_a_reversal_may_be_unknown() -> None:
    i = tt.lscalar("i")
    combined: Any = followed(Stretch(None, None, -1), Stretch(i, None, None), None)
    assert (combined.stop, combined.step) == (None, -1)


def test_slice_from_an_unknown_position_is_left_alone() -> None:
    # A negative one would count from the end.
    assert followed(Stretch(tt.lscalar("i"), None, None), Stretch(1, None, None), None) is None
