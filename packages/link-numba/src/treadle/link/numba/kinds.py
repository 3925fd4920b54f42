"""The arrays that functions of Numba's jit take and return."""

from __future__ import annotations

from typing import NamedTuple

from treadle.graph import Apply, Unsupported, Variable
from treadle.link.numba.dtypes import STORAGES
from treadle.tensor import TensorType


class Kind(NamedTuple):
    """The type of an array that a function takes or returns: arrays in C order."""

    dtype: str
    ndim: int


def kind_of(var: Variable, node: Apply) -> Kind:
    """Return what an input or output of a node is.

    Raises
    ------
    Unsupported
        If it is no array of a dtype that Numba has.
    """
    kind = var.type
    if not isinstance(kind, TensorType) or kind.dtype not in STORAGES or kind.dtype == "float16":
        msg = f"{node.op} has {kind} among its inputs or outputs, which functions of Numba's do not take"
        raise Unsupported(msg)
    return Kind(kind.dtype, kind.ndim)
