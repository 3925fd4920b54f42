"""How generators become values of graphs: published as ``treadle.types``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import lazy_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Type
    from treadle.tensor.random.generators import types
else:
    types = lazy_module("treadle.tensor.random.generators.types")  # it imports numpy.random


def _type_of(value: object) -> Type:
    return types.generator_type_of(value)


CONVERTERS: dict[type | str, Callable[[object], Type]] = {
    "numpy.random._generator.Generator": _type_of,
    "numpy.random.mtrand.RandomState": _type_of,
    "treadle.tensor.random.generators.portable.PortableGenerator": _type_of,
}
