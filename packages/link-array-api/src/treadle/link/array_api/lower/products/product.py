"""Matrix products."""

from __future__ import annotations

from treadle.link.array_api.libraries import library
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import MatMul, TensorNode

# What products of these are added in: float16 as NumPy does, and bool is true where any product is.
_WIDER = {"float16": "float32", "bool": "int32"}


@ARRAY_API.register(MatMul)
def matmul(op: MatMul, node: TensorNode) -> Lowered:
    """Lower to matmul."""
    lib, dtype = library(), node.outputs[0].type.dtype
    inner = _WIDER.get(dtype, dtype)

    def run(a: Array, b: Array) -> Array:
        return lib.astype(lib.xp.matmul(lib.astype(a, inner), lib.astype(b, inner)), dtype)

    return run
