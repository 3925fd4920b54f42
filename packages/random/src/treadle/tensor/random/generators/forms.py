"""What linkers ask of generators (`treadle.tensor.linking.generator_forms`): published as ``treadle.generators``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.linking.generator_forms import Source, are_portable
from treadle.tensor.loops.states import GeneratorInState, origin_of, state_of
from treadle.tensor.random.generators.portable import PortableGenerator
from treadle.tensor.random.generators.portable_keys import NOTICE, KeyedGenerator, portable_source
from treadle.tensor.random.generators.types import (
    PortableGeneratorType,
    RandomGeneratorConstant,
    RandomType,
    portable_generator_type,
    random_generator_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.graph import Apply, Op, Variable


def has_type(kind: object) -> bool:
    """Whether a type is one of generators."""
    return isinstance(kind, RandomType)


def is_portable(kind: object) -> bool:
    """Whether generators of a type give the same numbers on every backend."""
    return isinstance(kind, PortableGeneratorType)


def source_of(rng: Variable) -> Source:
    """Return a generator's state, and what makes it the generator in a later one."""
    if isinstance(rng.type, PortableGeneratorType) or are_portable():
        return portable_source(rng)
    return Source(state_of(rng), partial(GeneratorInState(), origin_of(rng)))


def in_state(kind: object, state: Variable) -> Variable:
    """Return a generator of a type, to draw from in a body."""
    if isinstance(kind, PortableGeneratorType):
        any_of_them = RandomGeneratorConstant(portable_generator_type, PortableGenerator(0))
        return GeneratorInState()(any_of_them, state)  # type: ignore[no-any-return]  # a generator
    if not are_portable():
        any_of_them = RandomGeneratorConstant(random_generator_type, np.random.default_rng(0))
        return GeneratorInState()(any_of_them, state)  # type: ignore[no-any-return]  # as above
    return KeyedGenerator()(state)  # type: ignore[no-any-return]  # as above


def makes_generator(op: Op) -> bool:
    """Whether an op's last input is the state of the generator that it returns."""
    return isinstance(op, KeyedGenerator | GeneratorInState)


def tell(backend: str, nodes: Iterable[Apply]) -> None:
    """Warn once where a node takes a key of a generator of NumPy's."""
    NOTICE.give(backend, nodes)
