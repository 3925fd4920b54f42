"""Lengths given as expressions that are known when the graph is built, and operands that are not lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.tensor.ops.known_values import known_value, known_values

if TYPE_CHECKING:
    from collections.abc import Callable

X, N = tt.dmatrix("x"), tt.lscalar("n")
WIDE = tt.tensor("w", dtype="float64", shape=(2, None))


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: tt.reshape(X, tt.constant([2, 3])), (2, 3)),
        (lambda: tt.reshape(X, tt.stack([2, 3])), (2, 3)),
        (lambda: tt.reshape(X, tt.stack([N, -1, 3])), (None, None, 3)),
        (lambda: tt.reshape(X, (100 // tt.constant(50), 50)), (2, 50)),
        (lambda: tt.reshape(X, tt.stack([2, 3]), ndim=2), (2, 3)),
        (lambda: tt.zeros(tt.as_tensor([2, 3])), (2, 3)),
        (lambda: tt.zeros(tt.as_tensor([N, 3])), (None, 3)),
        (lambda: tt.zeros(tt.cast(tt.stack([2, 3]), "int32")), (2, 3)),
        (lambda: tt.zeros(tt.concatenate([WIDE.shape, [4]])), (2, None, 4)),
        (lambda: tt.zeros(WIDE.shape[:1] * 3), (6,)),
        (lambda: tt.alloc(0.0, tt.prod(tt.constant([2, 3]))), (6,)),
        (lambda: tt.broadcast_to(tt.dvector(), tt.stack([4, 2])), (4, 2)),
        (lambda: tt.arange(1, WIDE.shape[0] + 4), (5,)),
    ],
)
def test_lengths_that_are_known_become_part_of_the_type(make: Callable[[], Any], shape: Any) -> None:
    assert make().type.shape == shape


def test_integers_wrap_around_in_their_own_dtype() -> None:
    assert known_value(tt.constant(100, dtype="int8") + tt.constant(100, dtype="int8")) == -56


def test_position_out_of_bounds_makes_no_value_known() -> None:
    assert known_values(tt.stack([1, 2])[tt.constant(5) * 1 :]) == []
    assert known_values(X.shape) == [None, None]


def test_long_expressions_are_not_looked_into() -> None:
    total = tt.constant(1) + 0
    for _ in range(100):
        total = total + 1
    assert known_value(total) is None


@pytest.mark.parametrize("length", [[12], 2.5, np.array([1, 2])])
@pytest.mark.parametrize("op", [tt.Reshape(1), tt.Alloc(), tt.SumTo()])
def test_operand_that_is_not_a_length_is_refused_when_the_node_is_built(op: Any, length: Any) -> None:
    with pytest.raises(tt.TensorTypeError, match="a length must be an integer scalar"):
        op(X[0] if isinstance(op, tt.Alloc) else X, length)


def test_product_of_a_scalar_as_a_matrix_is_a_value_error() -> None:
    with pytest.raises(tt.ShapeError, match="scalars cannot be multiplied as matrices"):
        tt.matmul(4, [4, 1])


@pytest.mark.parametrize(("own", "other"), [((1,), (None,)), ((1, 1), (None, 1)), ((None, 1), (None, 3))])
def test_gradient_of_a_product_has_the_lengths_of_its_factor(own: Any, other: Any) -> None:
    a, b = tt.tensor("a", dtype="float64", shape=own), tt.tensor("b", dtype="float64", shape=other)
    assert tt.grad(tt.sum(tt.dot(a, b)), a).type.shape == own
