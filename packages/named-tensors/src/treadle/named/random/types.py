"""The type of generators whose draws have named dimensions, and the ops between it and plain ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import text_of
from treadle.graph import Apply, Constant, SharedVariable, Type, Variable, static_op
from treadle.named.errors import NamedTypeError
from treadle.named.types.casts import XTypeCastOp
from treadle.named.types.named_type import Input
from treadle.tensor.random import RandomType, random_generator_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Value


class XRandomGeneratorType(Type):
    """The type of generators whose draws have named dimensions; values are those of a plain type of generators.

    Parameters
    ----------
    generator
        That type; of NumPy's generators by default.
    """

    __props__: ClassVar[tuple[str, ...]] = ("generator",)
    shared_type: ClassVar[type[SharedVariable]]

    def __init__(self, generator: RandomType = random_generator_type) -> None:
        self.generator = generator

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> Value:
        """Take a generator as it is (errors as for the plain type)."""
        return self.generator.filter(data, strict, allow_downcast)

    def convert_variable(self, var: Variable) -> Variable | None:
        """Return a plain generator as one of this type."""
        if self.is_super(var.type):
            return var
        return self.from_carrier(var) if var.type == self.generator else None

    def carrier(self) -> Type:
        """Return the plain type."""
        return self.generator

    def to_carrier(self, var: Variable) -> Variable:
        """Return the plain generator."""
        plain: Variable = plain_rng(var)
        return plain

    def from_carrier(self, var: Variable) -> Variable:
        """Return a plain generator as one whose draws have names."""
        converted: Variable = RNGToXRNG()(var)
        return converted

    def copy_value(self, value: Value) -> Value:
        """Return a generator in the same state."""
        return self.generator.copy_value(value)

    def values_eq(self, a: Value, b: Value) -> bool:  # type: ignore[override]  # that of the plain type
        """Whether two generators are in the same state."""
        return self.generator.values_eq(a, b)

    def sample(self, seed: int) -> Value:
        """Return a generator with the seed."""
        return self.generator.sample(seed)

    def guard(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """Return a test for the class of the generator."""
        return self.generator.guard(name)

    def to_host(self, value: Value) -> Value:
        """Return the generator."""
        return self.generator.to_host(value)

    def __str__(self) -> str:
        return f"XRandomGeneratorType({self.generator})"

    __repr__ = __str__


@static_op
class RNGToXRNG(XTypeCastOp):
    """A generator whose draws have named dimensions, of a plain one."""

    def make_node(self, rng: Input) -> Apply:
        """Return the node.

        Raises
        ------
        NamedTypeError
            If the operand is no plain generator.
        """
        kind = getattr(rng, "type", None)
        if not isinstance(kind, RandomType):
            msg = f"rng_to_xrng: a plain generator is needed, got {text_of(rng)}. Make one with treadle.tensor.random."
            raise NamedTypeError(msg)
        return Apply(self, [rng], [XRandomGeneratorType(kind).make_variable()])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that nothing flows through generators."""
        return [[False]]


@static_op
class XRNGToRNG(XTypeCastOp):
    """A plain generator of one whose draws have named dimensions."""

    is_short_form = True

    def make_node(self, rng: Input) -> Apply:
        """Return the node.

        Raises
        ------
        NamedTypeError
            If the operand is no such generator.
        """
        kind = getattr(rng, "type", None)
        if not isinstance(kind, XRandomGeneratorType):
            msg = (
                f"xrng_to_rng: a generator of treadle.named.random is needed, got {text_of(rng)}. Make one with rng()."
            )
            raise NamedTypeError(msg)
        return Apply(self, [rng], [kind.generator.make_variable()])

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the generator that was converted."""
        (x,) = inputs
        if x.owner is not None and isinstance(x.owner.op, RNGToXRNG):
            return [x.owner.inputs[0]]
        if isinstance(x, Constant):
            return [x.type.generator.make_constant(x.data)]
        return None

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that nothing flows through generators."""
        return [[False]]


rng_to_xrng = RNGToXRNG()
xrng_to_rng = XRNGToRNG()


def plain_rng(rng: Input) -> Input:
    """Return the plain generator of one that may be either, the one that was converted where there is one."""
    if not isinstance(rng.type, XRandomGeneratorType):
        return rng
    if rng.owner is not None and isinstance(rng.owner.op, RNGToXRNG):
        return rng.owner.inputs[0]
    return xrng_to_rng(rng)


def is_generator(value: object) -> bool:
    """Whether a value is a NumPy generator."""
    return isinstance(value, np.random.Generator)


__all__ = ["XRandomGeneratorType", "is_generator", "plain_rng", "rng_to_xrng", "xrng_to_rng"]
