"""Arguments of functions for networks: floats, integers, words, means over samples, sources of random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import config, text_of
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import ArgumentError, DtypeError
from treadle.tensor.random.generators.stream import RandomStream
from treadle.tensor.reductions.moments import mean
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


def float_tensor(what: str, x: TensorLike) -> TensorVariable:
    """Return a tensor of floats; integers become floatX."""
    value = as_tensor_variable(x)
    kind = value.type.numpy_dtype.kind
    if kind == "f":
        return value
    if kind == "c":
        msg = (
            f"{what}: real numbers are needed, got {value} of type {value.type}. Take its real part or absolute value."
        )
        raise DtypeError(msg)
    return cast(value, config.floatX)


def integer_tensor(what: str, x: TensorLike) -> TensorVariable:
    """Return a tensor of integers."""
    value = as_tensor_variable(x)
    if value.type.numpy_dtype.kind not in "iu":
        msg = f"{what} must be of integers, got {value} of type {value.type}. Cast it to int64."
        raise DtypeError(msg)
    return value


def word(what: str, value: object, allowed: Sequence[str]) -> str:
    """Return one of the words of a choice."""
    if not isinstance(value, str) or value not in allowed:
        msg = f"{what} must be one of {', '.join(allowed)}, got {text_of(value)}."
        raise ArgumentError(msg)
    return value


def reduced(
    function: str, losses: TensorVariable, reduction: object, weight: TensorLike | None = None
) -> TensorVariable:
    """Return losses, weighted, or their sum or mean over all elements."""
    how = word(f"{function}: reduction", reduction, ("mean", "sum", "none"))
    if weight is not None:
        losses = losses * as_tensor_variable(weight)
    return losses if how == "none" else sum_(losses) if how == "sum" else mean(losses)


def drawn(
    what: str, name: str, rng: object, *parameters: object, **options: object
) -> tuple[Variable | None, TensorVariable]:
    """Return the generator after a draw, None of a stream, and the draw."""
    if rng is None or not hasattr(rng, name):
        msg = (
            f"{what}: rng must be a RandomStream or a generator (tt.random.shared_rng, tt.random.rng), got "
            f"{text_of(rng)}. Make one, such as tt.random.RandomStream(1)."
        )
        raise ArgumentError(msg)
    if isinstance(rng, RandomStream):
        return None, getattr(rng, name)(*parameters, **options)
    after, draw = getattr(rng, name)(*parameters, **options)
    return after, draw
