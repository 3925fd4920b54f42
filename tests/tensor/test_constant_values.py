"""Numbers and lengths that are known when the graph is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.tensor import NotScalarConstantError

X = tt.dmatrix("X")


@pytest.mark.parametrize(
    ("variable", "number"),
    [
        (5, 5),
        (tt.constant([2.0, 2.0]), 2.0),
        (tt.full((2, X.shape[0]), 7.0), 7.0),
        (tt.constant(3) + 2 * tt.ones((2, 2)), 5.0),
        (tt.specify_shape(X, (3, None)).shape[0], 3),
        (tt.stack([X[0, 0], tt.constant(4.0)])[1], 4.0),
        (tt.zeros(X.shape[:1]).dimshuffle("x", 0).flatten()[2:], 0.0),
        (tt.concatenate([tt.ones(2), [1.0]]), 1.0),
    ],
)
def test_number_is_found(variable: Any, number: float) -> None:
    value = tt.get_underlying_scalar_constant_value(variable)
    assert isinstance(value, np.ndarray)
    assert value.shape == ()
    assert value == number


def test_unknown_numbers_are_refused_or_returned() -> None:
    for variable in (X, tt.constant([1, 2]), tt.exp(X), tt.constant(np.zeros(0)), None):
        with pytest.raises(NotScalarConstantError, match="is not known to be one number"):
            tt.get_underlying_scalar_constant_value(variable)  # type: ignore[arg-type]  # None is refused
    assert tt.get_underlying_scalar_constant_value(X, raise_not_constant=False) is X
    computed = tt.constant(1) + 1
    for options in ({"elemwise": False}, {"only_process_constants": True}, {"max_recur": 0}):
        with pytest.raises(NotScalarConstantError):
            tt.get_underlying_scalar_constant_value(computed, **options)
    with pytest.raises(NotScalarConstantError, match="one element is needed"):
        tt.get_scalar_constant_value(tt.full((2,), 1.0))


def test_lengths_and_ranks_can_be_asked_for() -> None:
    assert tt.get_vector_length(X.shape) == 2
    assert tt.get_vector_length([1, 2, X[0, 0]]) == 3
    with pytest.raises(TypeError, match="get_vector_length: a vector of known length is needed"):
        tt.get_vector_length(X[0])
    first, second = tt.shape_tuple(tt.tensor("x", shape=(2, None)))
    assert tt.get_scalar_constant_value(first) == 2
    assert second.owner is not None
    assert tt.is_flat(X, 2)
    assert not tt.is_flat(X)
