"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.graph import Apply, Unsupported
from treadle.link.array_api.libraries import Library, library
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import Reduction

# Of truth values; the standard has these for numbers only.
_OF_TRUTH = {"sum": "any", "prod": "all", "max": "any", "min": "all", "any": "any", "all": "all"}


def total(lib: Library, x: Array, axes: Sequence[int], dtype: str) -> Array:
    """Return the sum over axes in a dtype: of bool it is "or", and float16 is added up in float32."""
    return _combined(lib, x, "sum", tuple(axes), dtype)


def _combined(lib: Library, x: Array, kind: str, axes: tuple[int, ...], dtype: str) -> Array:
    xp = lib.xp
    if dtype == "bool" or kind in {"any", "all"}:
        return getattr(xp, _OF_TRUTH[kind])(x, axis=axes)
    if kind in {"max", "min"}:
        return getattr(xp, kind)(x, axis=axes)
    wide = "float32" if dtype == "float16" else dtype
    return lib.astype(getattr(xp, kind)(lib.astype(x, wide), axis=axes, dtype=lib.dtypes[wide]), dtype)


def refuse_complex(dtype: str) -> None:
    """Refuse to order complex numbers."""
    if dtype.startswith("complex"):
        msg = "the standard has no order of complex numbers"
        raise Unsupported(msg, "compare their abs()")


@ARRAY_API.register(Reduction)
def reduction(op: Reduction, node: Apply) -> Lowered:
    """Lower to the standard's reductions, in the accumulator's dtype."""
    lib = library()
    if op.kind in {"max", "min"}:
        refuse_complex(op.acc_dtype)

    def run(x: Array) -> Array:
        values = lib.astype(x, op.acc_dtype)
        return lib.astype(_combined(lib, values, op.kind, op.axes, op.acc_dtype) if op.axes else values, op.dtype)

    return run
