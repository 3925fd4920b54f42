"""Generators whose draws have named dimensions: inputs, and shared ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import treadle.tensor.random as plain
from treadle.config import text_of
from treadle.graph import SharedVariable, Variable
from treadle.named.errors import NamedTypeError
from treadle.named.random.distributions import distribution, distribution_names
from treadle.named.random.op import Draw
from treadle.named.random.types import XRandomGeneratorType, is_generator, rng_to_xrng, xrng_to_rng
from treadle.named.types.named_type import Input
from treadle.tensor.random import PortableGenerator, RandomType

if TYPE_CHECKING:
    from collections.abc import Callable


class XRandomGeneratorVariable(Variable[XRandomGeneratorType]):
    """A generator; it has every distribution as a method, which returns the next generator and the draw."""

    def __getattr__(self, name: str) -> Callable[..., Draw]:
        """Return a distribution as a method."""
        function = None if name.startswith("_") else distribution(name)
        if function is None:
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)

        def method(*params: object, **options: object) -> Draw:
            return function(*params, rng=self, return_next_rng=True, **options)

        method.__name__ = method.__qualname__ = name
        method.__doc__ = function.__doc__
        return method

    def __dir__(self) -> list[str]:
        """Return the distributions among the attributes."""
        return [*super().__dir__(), *distribution_names()]


class XRandomGeneratorSharedVariable(XRandomGeneratorVariable, SharedVariable[XRandomGeneratorType]):
    """A generator that is kept from call to call, and that functions can update."""

    def set_value(self, new_value: object = None, borrow: bool = False, *, seed: object = None) -> None:
        """Set the generator, or make a new one of a seed."""
        if new_value is None:
            new_value, borrow = self.type.generator.make(seed), True
        super().set_value(new_value, borrow)


XRandomGeneratorType.variable_type = XRandomGeneratorVariable
XRandomGeneratorType.shared_type = XRandomGeneratorSharedVariable


def rng(name: str | None = None, *, generator: Literal["numpy", "portable"] | None = None) -> XRandomGeneratorVariable:
    """Return a generator to be an input of a function.

    Parameters
    ----------
    name
        Its name.
    generator
        ``numpy`` or ``portable``; option ``random__generator`` if None.

    Examples
    --------
    >>> import numpy as np
    >>> from treadle.compile import function
    >>> from treadle.named import random
    >>> rng = random.rng("rng")
    >>> next_rng, x = rng.normal(0, 1, extra_dims={"a": 3})
    >>> function([rng], x)(np.random.default_rng(1)).shape
    (3,)
    """
    kind: Input = plain.rng(generator=generator).type
    return XRandomGeneratorType(kind).make_variable(name)  # type: ignore[return-value]  # its class


def shared_rng(
    value: Input = None, *, name: str | None = None, borrow: bool = False, **seed: object
) -> XRandomGeneratorSharedVariable:
    """Return a generator that is kept from call to call.

    Parameters
    ----------
    value
        A generator; one of the kind that option ``random__generator`` says is made of the seed if it is None.
    name
        Its name.
    borrow
        Whether the generator given may be kept, in place of a copy.
    seed
        ``seed=...``, as for `treadle.tensor.random.shared_rng`.
    """
    made = plain.shared_rng(value, name=name, borrow=borrow, **seed)
    kind: Input = made.type
    own = XRandomGeneratorType(kind)
    return own.shared_type(own, made.get_value(borrow=True), name=name)  # type: ignore[return-value]  # its class


def as_rng(x: Input) -> XRandomGeneratorVariable:
    """Return a generator as one whose draws have named dimensions.

    Raises
    ------
    NamedTypeError
        If it is no variable of a generator.
    """
    kind = getattr(x, "type", None)
    if isinstance(kind, XRandomGeneratorType):
        return x  # type: ignore[no-any-return]  # its class
    if isinstance(kind, RandomType):
        return rng_to_xrng(x)  # type: ignore[no-any-return]  # its class
    advice = "shared_rng(generator)" if is_generator(x) or isinstance(x, PortableGenerator) else "rng() or shared_rng()"
    msg = f"as_rng: a variable of a generator is needed, got {text_of(x)}. Make one with {advice}."
    raise NamedTypeError(msg)


__all__ = [
    "XRandomGeneratorSharedVariable", "XRandomGeneratorType", "XRandomGeneratorVariable", "as_rng", "rng",
    "rng_to_xrng", "shared_rng", "xrng_to_rng",
]  # fmt: skip
