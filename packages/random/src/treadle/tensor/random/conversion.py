"""How generators become values of graphs: published as ``treadle.types``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Type


def _type_of(value: object) -> Type:
    from treadle.tensor.random.generators.types import generator_type_of  # noqa: PLC0415 - it imports numpy.random

    return generator_type_of(value)


CONVERTERS: dict[type | str, Callable[[object], Type]] = {
    "numpy.random._generator.Generator": _type_of,
    "numpy.random.mtrand.RandomState": _type_of,
    "treadle.tensor.random.generators.portable.PortableGenerator": _type_of,
}
