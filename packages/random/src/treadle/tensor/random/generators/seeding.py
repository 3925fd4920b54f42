"""Generators made in graphs: from seeds, and from other generators."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.config import alias, text_of
from treadle.graph import Apply, Op, Variable, static_op
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.loops.states import generator_type
from treadle.tensor.random.generators.types import (
    PortableGeneratorType,
    RandomType,
    portable_generator_type,
    random_generator_type,
)
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.none_and_slices import NoneConst, NoneTypeT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, Value
    from treadle.tensor.variables.variable import TensorLike

__all__ = ["DefaultGeneratorMakerOp", "FoldIn", "Spawn", "default_rng", "portable_rng"]

_SERIALS = itertools.count(1)


class _GeneratorOp(Op):
    """Base of ops that make generators: steps of Python around compiled parts."""

    on_host: ClassVar[bool] = True

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Refuse: generators are not numbers."""
        return False


@static_op
class DefaultGeneratorMakerOp(_GeneratorOp):
    """A generator from a seed: an integer of 0 or more, a vector of such, or None for fresh entropy in each call.

    Two nodes without a seed are never taken for the same: each has a number of its own in `serial`.
    """

    portable: bool = False
    serial: int = 0

    @property
    def kind(self) -> RandomType:
        """The type of what is made."""
        return portable_generator_type if self.portable else random_generator_type

    def make_node(self, seed: TensorLike | None = None) -> Apply:
        """Return the node.

        Raises
        ------
        TensorTypeError
            If the seed is neither None nor made of integers.
        """
        if seed is None or (isinstance(seed, Variable) and isinstance(seed.type, NoneTypeT)):
            return Apply(replace(self, serial=next(_SERIALS)), [NoneConst], [self.kind.make_variable()])
        if isinstance(seed, int) and seed >= 2**63:
            # As `numpy.random.SeedSequence` reads large integers.
            seed = [seed >> k & 0xFFFFFFFF for k in range(0, seed.bit_length(), 32)]
        seeds = as_tensor_variable(seed)
        if seeds.type.numpy_dtype.kind not in "iu" or seeds.type.ndim > 1:
            msg = (
                f"{self}: a seed must be an integer, a vector of integers or None, got {text_of(seed)} of type "
                f"{seeds.type}."
            )
            raise TensorTypeError(msg)
        return Apply(self, [seeds], [self.kind.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Make the generator."""
        (seed,) = inputs
        output_storage[0][0] = self.kind.make(None if seed is None else seed.tolist())

    def __str__(self) -> str:
        return "portable_rng" if self.portable else "default_rng"


@static_op
class Spawn(_GeneratorOp):
    """The generator after, and `count` generators that are apart from it and from each other."""

    count: int

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        (rng,) = inputs
        kind = generator_type(self, rng)
        return Apply(self, [rng], [kind.make_variable() for _ in range(self.count + 1)])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Spawn."""
        after, children = generator_type(self, node.inputs[0]).spawned(inputs[0], self.count)
        for cell, generator in zip(output_storage, [after, *children], strict=True):
            cell[0] = generator


@static_op
class FoldIn(_GeneratorOp):
    """The portable generator of the stream that belongs to a generator's and an integer."""

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node.

        Raises
        ------
        TensorTypeError
            If the generator is not a portable one, or the number none.
        """
        rng, data = inputs[0], as_tensor_variable(inputs[1])
        if not isinstance(rng.type, PortableGeneratorType):
            msg = f"fold_in: a portable generator is needed, got {rng} of type {rng.type}. Use spawn for NumPy's."
            raise TensorTypeError(msg)
        if data.type.numpy_dtype.kind not in "iu" or data.type.ndim != 0:
            msg = f"fold_in: the data must be an integer, got {data} of type {data.type}."
            raise TensorTypeError(msg)
        return Apply(self, [rng, data], [rng.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Make the generator."""
        rng, data = inputs
        output_storage[0][0] = rng.fold_in(int(data))


default_rng = alias(DefaultGeneratorMakerOp(), "default_rng")
portable_rng = alias(DefaultGeneratorMakerOp(portable=True), "portable_rng")
