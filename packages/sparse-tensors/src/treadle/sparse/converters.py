"""How SciPy's sparse matrices and arrays become values of graphs: published as ``treadle.types``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Type


def _type_of(value: object) -> Type:
    from treadle.sparse.types.variable import sparse_type_of  # noqa: PLC0415 - it imports SciPy's sparse matrices

    return sparse_type_of(value)


# Base classes of the matrices and of the arrays.
CONVERTERS: dict[type | str, Callable[[object], Type]] = {
    "scipy.sparse._base._spbase": _type_of,
}
