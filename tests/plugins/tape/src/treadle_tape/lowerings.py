"""Each op on NumPy arrays. A rule takes (op, node) and returns a function of the inputs' arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle import tensor as tt
from treadle.graph import IfElse, Op

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, LoweringTable

_REDUCTIONS = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "all": np.logical_and,
    "any": np.logical_or,
}  # fmt: skip


def _dtype(node: Apply) -> Any:
    kind: Any = node.outputs[0].type
    return kind.numpy_dtype


def elemwise(op: tt.Elemwise, node: Apply) -> Callable[..., Any]:
    """Convert to the dtypes of the scalar op, and apply it."""
    scalar_op = op.scalar_op
    if isinstance(scalar_op, tt.Composite):
        return lambda *xs: _several(scalar_op.results(xs), np.broadcast_shapes(*map(np.shape, xs)))
    loops, out, function = op.loop_dtypes(node), _dtype(node), scalar_op.impl
    return lambda *xs: np.asarray(function(*(x.astype(d, copy=False) for x, d in zip(xs, loops, strict=True)))).astype(
        out, copy=False
    )


def _several(values: list[Any], shape: tuple[int, ...]) -> Any:
    copies = tuple(np.array(np.broadcast_to(v, shape)) for v in values)
    return copies[0] if len(copies) == 1 else copies


def dimshuffle(op: tt.DimShuffle, node: Apply) -> Callable[..., Any]:
    """Drop, permute, insert."""
    del node
    dropped = op.dropped
    kept = [d for d in range(op.ndim) if d not in dropped]
    order = [kept.index(d) for d in op.order if isinstance(d, int)]
    new = tuple(at for at, d in enumerate(op.order) if not isinstance(d, int))
    return lambda x: np.expand_dims(np.squeeze(x, dropped).transpose(order), new)


def reshape(op: tt.Reshape, node: Apply) -> Callable[..., Any]:
    """Copy the elements into another layout."""
    del op, node
    return lambda x, *lengths: np.reshape(x, [int(n) for n in lengths])


def alloc(op: tt.Alloc, node: Apply) -> Callable[..., Any]:
    """Fill a new array."""
    del op, node

    def run(x: Any, *lengths: Any) -> Any:
        result = np.empty([int(n) for n in lengths], x.dtype)
        result[...] = x
        if x.ndim > result.ndim or any(
            n not in {1, m} for n, m in zip(x.shape[::-1], result.shape[::-1], strict=False)
        ):
            msg = f"shape {x.shape} cannot be broadcast to {result.shape}"
            raise ValueError(msg)
        return result

    return run


def sum_to(op: tt.SumTo, node: Apply) -> Callable[..., Any]:
    """Sum over what was broadcast."""
    del op, node

    def run(x: Any, *lengths: Any) -> Any:
        shape = tuple(int(n) for n in lengths)
        extra = x.ndim - len(shape)
        if any(m not in {1, n} for n, m in zip(x.shape[extra:], shape, strict=True)):
            msg = f"shape {x.shape} cannot be summed to {shape}"
            raise ValueError(msg)
        wide = tuple(d + extra for d, m in enumerate(shape) if m == 1)
        return np.add.reduce(x, axis=(*range(extra), *wide), keepdims=True, dtype=x.dtype).reshape(shape)

    return run


def reduction(op: tt.Reduction, node: Apply) -> Callable[..., Any]:
    """Combine along axes."""
    del node
    ufunc, axes, inner, out = _REDUCTIONS[op.kind], op.axes, op.acc_dtype, op.dtype
    if not axes:
        return lambda x: x.astype(inner).astype(out)
    return lambda x: np.asarray(ufunc.reduce(x.astype(inner, copy=False), axis=axes)).astype(out, copy=False)


def arg_reduction(op: tt.ArgReduction, node: Apply) -> Callable[..., Any]:
    """Search along axes, counted in C order."""
    del node
    search, axes = getattr(np, op.kind), op.axes

    def run(x: Any) -> Any:
        last = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
        flat = last.reshape(*last.shape[: x.ndim - len(axes)], math.prod(last.shape[x.ndim - len(axes) :]))
        return np.asarray(search(flat, axis=-1), "int64")

    return run


def matmul(op: tt.MatMul, node: Apply) -> Callable[..., Any]:
    """Multiply stacks of matrices."""
    del op, node
    return np.matmul


def join(op: tt.Join, node: Apply) -> Callable[..., Any]:
    """Put one after another."""
    axis, out = op.axis, _dtype(node)
    return lambda *xs: np.concatenate(xs, axis=axis, dtype=out)


def arange(op: tt.ARange, node: Apply) -> Callable[..., Any]:
    """Count."""
    del node
    dtype = op.dtype

    def run(start: Any, stop: Any, step: Any) -> Any:
        count = tt.range_length(start, stop, step)
        return (start + np.arange(count) * step).astype(dtype)

    return run


def take(op: tt.Subtensor | tt.AdvancedSubtensor, node: Apply) -> Callable[..., Any]:
    """Index."""
    del node
    entries = op.entries
    return lambda x, *parts: np.asarray(x[tt.filled_index(entries, parts, x.shape)])


def put(op: tt.IncSubtensor | tt.AdvancedIncSubtensor, node: Apply) -> Callable[..., Any]:
    """Write into a copy; every repeated position adds again."""
    del node
    entries, is_set = op.entries, op.set

    def run(x: Any, y: Any, *parts: Any) -> Any:
        result = x.copy()
        index = tt.filled_index(entries, parts, x.shape)
        if is_set:
            result[index] = y
        else:
            (np.logical_or if result.dtype == bool else np.add).at(result, index, y)  # type: ignore[arg-type]  # an index of several parts too
        return result

    return run


def shape(op: tt.Shape, node: Apply) -> Callable[..., Any]:
    """All lengths."""
    del op, node
    return lambda x: np.array(x.shape, "int64")


def shape_i(op: tt.ShapeI, node: Apply) -> Callable[..., Any]:
    """One length."""
    del node
    axis = op.axis
    return lambda x: np.array(x.shape[axis], "int64")


def choice(op: IfElse, node: Apply) -> Callable[..., Any]:
    """Pick from two sets of values, both of which are computed."""
    del node
    count = op.n_outs

    def run(condition: Any, *values: Any) -> Any:
        taken = values[:count] if condition else values[count:]
        return taken[0] if count == 1 else taken

    return run


def reference(op: Op, node: Apply) -> Callable[..., Any]:
    """Run the op's own implementation in NumPy."""

    def run(*values: Any) -> Any:
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        op.perform(node, list(values), cells)
        # Slices and lists are not arrays.
        pairs = zip(cells, node.outputs, strict=True)
        results = tuple(np.array(cell[0]) if isinstance(out.type, tt.TensorType) else cell[0] for cell, out in pairs)
        return results if len(results) > 1 else results[0]

    return run


def register(table: LoweringTable) -> None:
    """Enter the rules into the tape's table; ops that are not composed of simpler ones run as they are."""
    for rule, *ops in (
        (elemwise, tt.Elemwise), (dimshuffle, tt.DimShuffle), (reshape, tt.Reshape),
        (alloc, tt.Alloc), (sum_to, tt.SumTo), (reduction, tt.Reduction), (arg_reduction, tt.ArgReduction),
        (matmul, tt.MatMul), (join, tt.Join), (arange, tt.ARange), (take, tt.Subtensor, tt.AdvancedSubtensor),
        (put, tt.IncSubtensor, tt.AdvancedIncSubtensor),
        (shape, tt.Shape), (shape_i, tt.ShapeI), (choice, IfElse),
    ):  # fmt: skip
        table.register(*ops)(rule)
    public = (getattr(tt, name) for name in tt.__all__)
    classes = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Op)}
    ruled = (tt.Elemwise, *table.op_types())
    for kind in sorted(classes, key=lambda kind: kind.__name__):
        if kind.decompose is Op.decompose and not issubclass(kind, ruled) and kind is not tt.FromFunctionOp:
            table.register(kind)(reference)
