"""Sorting."""

from __future__ import annotations

from treadle.graph import Unsupported
from treadle.link.array_api.libraries import library
from treadle.link.array_api.table import ARRAY_API, Lowered
from treadle.tensor import ArgSort, Sort, TensorNode


def _order(dtype: str) -> str:
    """Return a dtype of numbers in the order of a dtype, which the standard sorts real numbers of only."""
    if dtype.startswith("complex"):
        msg = "the standard has no order of complex numbers"
        raise Unsupported(msg, "sort their abs()")
    return "uint8" if dtype == "bool" else dtype


@ARRAY_API.register(Sort)
def sort(op: Sort, node: TensorNode) -> Lowered:
    """Lower to sort."""
    lib, dtype = library(), node.inputs[0].type.dtype
    inner = _order(dtype)
    return lambda x: lib.astype(lib.xp.sort(lib.astype(x, inner), axis=op.axis), dtype)


@ARRAY_API.register(ArgSort)
def argsort(op: ArgSort, node: TensorNode) -> Lowered:
    """Lower to a stable argsort."""
    lib, inner = library(), _order(node.inputs[0].type.dtype)
    return lambda x: lib.astype(lib.xp.argsort(lib.astype(x, inner), axis=op.axis, stable=True), "int64")
