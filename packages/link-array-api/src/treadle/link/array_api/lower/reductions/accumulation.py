"""Accumulations."""

from __future__ import annotations

from collections.abc import Callable

from treadle.link.array_api.libraries import Library, library
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import Accumulation, TensorNode

# Of truth values a sum is "or", a product "and".
_OF_TRUTH = {"sum": "logical_or", "prod": "logical_and", "max": "logical_or", "min": "logical_and"}
_FUNCTIONS = {"max": "maximum", "min": "minimum", "logaddexp": "logaddexp"}


def doubled(lib: Library, x: Array, axis: int, combine: Callable[[Array, Array], Array]) -> Array:
    """Return each element combined with all before it, by steps of 1, 2, 4 ... elements."""
    step, n = 1, x.shape[axis]
    while step < n:
        first, early, late = (_part(x, axis, *bounds) for bounds in ((0, step), (0, n - step), (step, n)))
        x = lib.xp.concat([first, combine(early, late)], axis=axis)
        step *= 2
    return x


def _part(x: Array, axis: int, start: int, stop: int) -> Array:
    return x[(*(slice(None) for _ in range(axis)), slice(start, stop), ...)]


@ARRAY_API.register(Accumulation)
def accumulation(op: Accumulation, node: TensorNode) -> Lowered:
    """Lower to cumulative_sum and cumulative_prod; what the standard lacks to doublings. float16 is in float32."""
    lib, dtype = library(), op.dtype
    xp, wide = lib.xp, "float32" if op.dtype == "float16" else op.dtype
    own = f"cumulative_{op.kind}"

    def run(x: Array) -> Array:
        values = lib.astype(lib.astype(x, dtype), wide)
        if dtype == "bool":
            return doubled(lib, values, op.axis, getattr(xp, _OF_TRUTH[op.kind]))
        if op.kind not in _FUNCTIONS and hasattr(xp, own):
            return lib.astype(getattr(xp, own)(values, axis=op.axis, dtype=lib.dtypes[wide]), dtype)
        combine = {"sum": xp.add, "prod": xp.multiply}.get(op.kind) or getattr(xp, _FUNCTIONS[op.kind])
        return lib.astype(doubled(lib, values, op.axis, combine), dtype)

    return run
