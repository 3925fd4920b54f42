"""Facts that rules rely on: from dtypes, values, traits of scalar ops, and the promises of ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, text
from treadle.graph import Op, static_op
from treadle.tensor.rewrites import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Type, Variable


@static_op
class Measured(Op):
    """An op of another package: a distance, which its author knows to be never negative."""

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of the operand."""
        return types

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Return the distance from 0."""
        output_storage[0][0] = np.abs(inputs[0])

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise two facts: one that our rules ask for, and one of the author's own."""
        return fact in {"nonnegative", "measured"}


def test_an_op_of_an_outsider_promises_what_our_rules_ask_for() -> None:
    x = tt.vector("x")
    measured = Measured()(x)
    fgraph, _ = rewrite([x], [abs(measured), abs(tt.sqrt(measured)), abs(x)])
    assert [text(out) for out in fgraph.outputs] == ["measured(x)", "sqrt(measured(x))", "abs(x)"]


def test_a_fact_of_an_outsider_is_asked_for_by_its_name() -> None:
    x = tt.vector("x")
    assert holds("measured", Measured()(x))
    assert not holds("measured", x)
    assert not holds("measured", tt.exp(x))


@pytest.mark.parametrize("function", [tt.exp, tt.cosh, tt.sqr, tt.sigmoid, tt.softplus])
def test_functions_whose_image_is_positive_are_not_negative(function: Any) -> None:
    assert holds("nonnegative", function(tt.vector("x")))


@pytest.mark.parametrize("function", [tt.sqrt, tt.sinh, tt.log1p, tt.floor, tt.tanh])
def test_functions_that_grow_from_zero_keep_that_nothing_is_negative(function: Any) -> None:
    x = tt.vector("x")
    assert not holds("nonnegative", function(x))
    assert holds("nonnegative", function(tt.exp(x)))


def test_integers_that_may_wrap_around_are_not_known_to_be_positive() -> None:
    i = tt.maximum(tt.ivector("i"), 0)
    assert holds("nonnegative", i)
    assert not holds("nonnegative", i + i)
    assert not holds("nonnegative", i.sum())


def test_sums_and_lengths_are_not_negative() -> None:
    x = tt.matrix("x")
    assert holds("nonnegative", tt.exp(x).sum(axis=0))
    assert holds("nonnegative", x.shape[0])
    assert not holds("nonnegative", x.sum())
