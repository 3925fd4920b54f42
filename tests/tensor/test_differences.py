"""Differences of integer scalars that do not depend on their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import treadle.tensor as tt

if TYPE_CHECKING:
    from collections.abc import Callable

I, J, X = tt.lscalar("i"), tt.iscalar("j"), tt.dvector("x")  # noqa: E741 - indices


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: ((I + 1) * 50, I * 50), 50),
        (lambda: (J * J + 2 * J + 1, (J + 1) * (J + 1)), 0),
        (lambda: (X.shape[0] - I, X.shape[0] - I - 3), 3),
        (lambda: (-(I - 4), 1 - I), 3),
        (lambda: (tt.cast(J, "int64") + 2, J), 2),
        (lambda: (I * 2, I), None),
        (lambda: (I, J), None),
        (lambda: (tt.maximum(I, 0) + 1, tt.maximum(I, 1)), None),
    ],
)
def test_difference_is_found_where_it_is_always_the_same(make: Callable[[], Any], expected: int | None) -> None:
    assert tt.constant_difference(*map(tt.as_tensor, make())) == expected


def test_long_scalars_are_not_looked_into() -> None:
    total = I
    for _ in range(500):
        total = total * 2 + 1
    assert tt.constant_difference(total + I, total * 2) is None
