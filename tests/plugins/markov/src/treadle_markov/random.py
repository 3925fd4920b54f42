"""SumUniform: the sum of two uniform numbers."""

from __future__ import annotations

from typing import Any

from treadle.tensor.random import RandomVariable

__all__ = ["SumUniform", "sum_uniform"]


class SumUniform(RandomVariable):
    """The sum of two numbers, each uniform between `low` and `high`."""

    name = "sum_uniform"
    signature = "(),()->()"
    dtype = "floatX"
    parameters = {"low": 0.0, "high": 1.0}  # noqa: RUF012 - it declares them, as the base class reads them

    def definition(self, rng: Any, low: Any, high: Any, *, size: Any) -> Any:
        """Draw both and add them."""
        return rng.uniform(low, high, size=size) + rng.uniform(low, high, size=size)


sum_uniform = SumUniform()
