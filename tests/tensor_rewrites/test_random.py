"""Rules over random variables, and rules that come across them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from treadle import tensor as tt
from treadle.compile import function
from treadle.tensor import random as tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor import TensorVariable


@pytest.mark.parametrize(
    "of", [lambda x: 2 * x, lambda x: x + x * 3, lambda x: x / x - 1, lambda x: tt.exp(2 * x) ** 2, tt.sum]
)
def test_rules_about_products_and_sums_take_draws_as_operands(of: Callable[[TensorVariable], TensorVariable]) -> None:
    x = tr.normal(1.0, 2.0, size=(3,), rng=tr.shared_rng(seed=5))
    function([], of(x), mode="VM")()
