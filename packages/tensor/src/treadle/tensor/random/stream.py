"""Shared generators, and RandomStream."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.config import text_of
from treadle.graph import Variable
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.random.portable import PortableGenerator
from treadle.tensor.random.types import (
    RandomGeneratorSharedVariable,
    RandomType,
    portable_generator_type,
    random_generator_type,
)

__all__ = ["rng", "shared_rng"]


def shared_rng(value: Any = None, *, seed: Any = None, name: str | None = None, borrow: bool = False) -> Any:
    """Return a shared variable of a generator.

    Parameters
    ----------
    value
        A ``numpy.random.Generator`` or a `PortableGenerator`; one made of `seed` if None.
    seed
        What ``numpy.random.default_rng`` takes.
    name
        Name of the variable.
    borrow
        Whether the generator itself may be kept, which nobody else should then use; else a copy.
    """
    value = np.random.default_rng(seed) if value is None else value
    kind: RandomType = portable_generator_type if isinstance(value, PortableGenerator) else random_generator_type
    kept = kind.filter(value) if borrow else kind.copy_value(kind.filter(value))
    return RandomGeneratorSharedVariable(kind, kept, name=name)


def rng(name: str | None = None) -> Any:
    """Return a symbolic generator of NumPy's, an input of functions."""
    return random_generator_type.make_variable(name)


def as_generator(what: str, given: Any) -> Variable:
    """Return a generator as a variable; a new shared one for None.

    Raises
    ------
    TensorTypeError
        If it is none.
    """
    if given is None:
        return shared_rng()  # type: ignore[no-any-return]  # a variable
    if isinstance(given, Variable) and isinstance(given.type, RandomType):
        return given
    advice = "Wrap it by shared_rng(...)." if isinstance(given, np.random.Generator | PortableGenerator) else ""
    msg = f"{what}: rng must be a variable of a generator, got {text_of(given)}. {advice}"
    raise TensorTypeError(msg.rstrip())
