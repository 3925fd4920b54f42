"""ExtractDiag."""

from __future__ import annotations

from treadle.link.array_api.libraries import library
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import ExtractDiag, TensorNode


@ARRAY_API.register(ExtractDiag)
def extract_diag(op: ExtractDiag, node: TensorNode) -> Lowered:
    """Lower to positions in rows and columns joined: the standard has diagonals in an extension only."""
    lib = library()
    xp, kept = lib.xp, op.kept(node.inputs[0].type.ndim)
    down, right = max(-op.offset, 0), max(op.offset, 0)

    def run(x: Array) -> Array:
        last = xp.permute_dims(x, (*kept, op.axis1, op.axis2))
        m, n = last.shape[-2:]
        at = lib.arange(max(min(m - down, n - right), 0)) * (n + 1) + down * n + right
        return xp.take(xp.reshape(last, (*last.shape[:-2], m * n)), at, axis=-1)

    return run
