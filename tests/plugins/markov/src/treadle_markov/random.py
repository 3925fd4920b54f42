"""SumUniform: the sum of two uniform numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.random import PORTABLE_SAMPLERS, RandomVariable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor import DrawLanes

__all__ = ["SumUniform", "sum_uniform"]


def _by_rejection(lanes: DrawLanes, low: Any, high: Any) -> Any:
    """Draw x below 2 under a triangle of height 1, which takes one block of Philox where two numbers take two."""
    start, width = lanes.flat(2.0 * low), lanes.flat(high - low)

    def attempt(words: Sequence[Any]) -> tuple[Any, Any]:
        w0, w1, w2, w3 = words
        x = 2.0 * lanes.unit(w0, w1)
        return start + width * x, lanes.unit(w2, w3) >= 1.0 - abs(x - 1.0)

    return lanes.attempts(attempt)


class SumUniform(RandomVariable):
    """The sum of two numbers, each uniform between `low` and `high`.

    NumPy's generators draw both; portable ones draw the sum, by rejection.
    """

    name = "sum_uniform"
    signature = "(),()->()"
    dtype = "floatX"
    parameters = {"low": 0.0, "high": 1.0}  # noqa: RUF012 - it declares them, as the base class reads them
    portable_sampler = PORTABLE_SAMPLERS.add("sum_uniform", _by_rejection, parameters=("float64", "float64"))

    def definition(self, rng: Any, low: Any, high: Any, *, size: Any) -> Any:
        """Draw both and add them."""
        return rng.uniform(low, high, size=size) + rng.uniform(low, high, size=size)

    def derivatives(self, draw: Any, cotangent: Any, low: Any, high: Any) -> Sequence[Any]:
        """Return those of 2 low + (high - low) x, which both ways of drawing are."""
        x = (draw - 2 * low) / (high - low)
        return [cotangent * (2 - x), cotangent * x]


sum_uniform = SumUniform()
