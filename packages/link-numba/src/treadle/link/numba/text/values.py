"""How a variable of the graph is represented in generated code."""

from __future__ import annotations

from dataclasses import replace

from treadle.config import dataclass
from treadle.link.numba.dtypes import Storage


@dataclass(frozen=True, slots=True)
class ScalarValue:
    """A value of rank 0, held in a local variable.

    Attributes
    ----------
    text
        The variable, or a literal.
    storage
        Its dtype.
    """

    text: str
    storage: Storage

    def texts(self) -> list[str]:
        """Return the variables and literals that it consists of."""
        return [self.text]


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array of rank 1 or more, as an address and numbers in local variables.

    Attributes
    ----------
    address
        Address of the first element.
    dims
        Lengths: variables or literals.
    strides
        Distances between elements along each dimension, in elements: variables or literals.
    storage
        Its dtype.
    slots
        The buffers of the program that it may lie in.
    packed
        Whether it is known to be contiguous in C order.
    certain
        Whether it always lies in a buffer of `slots`; if not, it may also lie in the memory of an input or constant.
    """

    address: str
    dims: tuple[str, ...]
    strides: tuple[str, ...]
    storage: Storage
    slots: tuple[int, ...] = ()
    packed: bool = False
    certain: bool = True

    def texts(self) -> list[str]:
        """Return the variables and literals that it consists of."""
        return [self.address, *self.dims, *self.strides]

    @property
    def fills_one_buffer(self) -> bool:
        """Whether it always is one whole buffer of the program, in C order."""
        return len(self.slots) == 1 and self.packed and self.certain

    @property
    def ndim(self) -> int:
        """Rank."""
        return len(self.dims)


@dataclass(frozen=True, slots=True)
class JoinedValue(ArrayValue):
    """A join that has no memory of its own, since the join that alone reads it writes its parts.

    Attributes
    ----------
    axis
        The dimension along which the parts are joined.
    parts
        The parts, whose buffers are its `slots`.
    """

    axis: int = 0
    parts: tuple[ArrayValue, ...] = ()


Value = ScalarValue | ArrayValue


def names_of(value: Value) -> list[str]:
    """Return the variables that a value consists of."""
    return [text for text in value.texts() if text.isidentifier()]


def padded(value: ArrayValue, ndim: int) -> ArrayValue:
    """Return an array with dimensions of length 1 put in front."""
    extra = ndim - value.ndim
    return replace(value, dims=("1",) * extra + value.dims, strides=("0",) * extra + value.strides, packed=False)


def is_literal(text: str) -> bool:
    """Whether the text is an integer literal."""
    return text.lstrip("-").isdigit()


def product(dims: tuple[str, ...] | list[str]) -> str:
    """Return the expression of a product of lengths; literals are multiplied."""
    known = 1
    factors = []
    for n in dims:
        if is_literal(n):
            known *= int(n)
        else:
            factors.append(n)
    if known != 1 or not factors:
        factors.append(str(known))
    return " * ".join(factors)
