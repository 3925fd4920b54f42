"""Nodes computed with Python integers while a program is traced: what leads to lengths and bounds.

Under torch.compile a length is a symbolic integer. As long as lengths are computed from lengths with Python's own
arithmetic they stay symbolic, so that one compiled program serves all shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch

from treadle.graph import Apply
from treadle.tensor import (
    LENGTH_OPERATORS,
    REDUCED_BY,
    At,
    Composite,
    DimShuffle,
    Elemwise,
    Join,
    Reduction,
    Shape,
    ShapeI,
    Span,
    Subtensor,
    Symbolic,
    TensorType,
    TensorVariable,
    tensors,
)

# A value on the host: an integer, or a tuple of integers for a vector.
Host: TypeAlias = int | tuple[int, ...]
HostFunction: TypeAlias = Callable[..., Host]


_SIGNED = frozenset({"bool", "int8", "int16", "int32", "int64"})


def _wrapper(dtype: str) -> Callable[[int], int]:
    """Return the function that wraps an integer to a short dtype. Lengths in int64 have no room to overflow."""
    if dtype in {"int64", "bool"}:
        return lambda a: a
    half = 2 ** (np.dtype(dtype).itemsize * 8 - 1)

    def wrap(a: int) -> int:
        return a if -half <= a < half else (a + half) % (2 * half) - half

    return wrap


def is_of_integers(node: Apply) -> bool:
    """Whether all inputs of a node are integers or truth values."""
    return all(isinstance(v.type, TensorType) and v.type.numpy_dtype.kind in "iub" for v in node.inputs)


def _over_vectors(function: Callable[..., int]) -> Callable[..., tuple[int, ...]]:
    """Return a function of integers as one of vectors of one length (or of length 1)."""

    def each(*vectors: tuple[int, ...]) -> tuple[int, ...]:
        size = 1
        for v in vectors:
            if len(v) != 1:
                size = len(v)
        for v in vectors:
            if len(v) not in {1, size}:
                msg = "the lengths of the vectors differ"
                raise ValueError(msg)
        return tuple([function(*[v[i if len(v) > 1 else 0] for v in vectors]) for i in range(size)])

    return each


def _is_number(var: TensorVariable) -> bool:
    kind = var.type
    return isinstance(kind, TensorType) and kind.ndim <= 1 and kind.dtype in _SIGNED


def _elemwise(op: Elemwise, node: Apply) -> HostFunction | None:
    scalar_op = op.scalar_op
    if isinstance(scalar_op, Composite) or any(d.kind not in "bi" for d in op.loop_dtypes(node)):
        return None
    function = LENGTH_OPERATORS.get(scalar_op.name)
    (out,) = (v.type for v in tensors(node.outputs))
    gives_truth = scalar_op.converse is not None or scalar_op.name == "identity"
    if function is None or (out.dtype == "bool" and not gives_truth):
        return None
    wrap, plain = _wrapper(out.dtype), function

    def scalar(*xs: int) -> int:
        return wrap(plain(*xs))

    return _over_vectors(scalar) if out.ndim else scalar


def _dimshuffle(op: DimShuffle) -> HostFunction | None:
    if op.order == ("x",) and op.ndim == 0:
        return lambda a: (a,)
    if op.order == (0,) and op.ndim == 1:
        return lambda v: v
    if op.order == () and op.ndim == 1:
        return _only
    return None


def _only(vector: tuple[int, ...]) -> int:
    if len(vector) != 1:
        msg = "a dropped dimension must have length 1"
        raise ValueError(msg)
    return vector[0]


def _subtensor(op: Subtensor) -> HostFunction | None:
    (entry,) = op.entries
    if isinstance(entry, At):
        value = entry.value
        if isinstance(value, Symbolic):
            return lambda v, at: v[at]
        return lambda v: v[value]
    if not isinstance(entry, Span) or any(isinstance(b, Symbolic) for b in (entry.start, entry.stop, entry.step)):
        return None
    cut = slice(entry.start, entry.stop, entry.step)
    return lambda v: v[cut]


def _reduction(op: Reduction) -> HostFunction | None:
    # Those that have a value for no elements.
    first = {"sum": 0, "prod": 1}.get(op.kind)
    if first is None or op.axes != (0,) or op.dtype != "int64" or op.acc_dtype != "int64":
        return None
    combine, start = LENGTH_OPERATORS[REDUCED_BY[op.kind]], first

    def reduce(vector: tuple[int, ...]) -> int:
        result = start
        for a in vector:
            result = combine(result, a)
        return result

    return reduce


def length_of(node: Apply) -> Callable[[torch.Tensor], Host] | None:
    """Return the function that reads a shape off a tensor, for the ops that do; else None."""
    op = node.op
    if isinstance(op, ShapeI):
        axis = op.axis
        return lambda x: x.shape[axis]
    if isinstance(op, Shape):
        return lambda x: tuple(x.shape)
    return None


def on_numbers(node: Apply) -> HostFunction | None:
    """Return a function of Python integers (tuples for vectors) that computes the node, or None if there is none."""
    if not all(_is_number(v) for v in tensors([*node.inputs, *node.outputs])):
        return None
    op = node.op
    if isinstance(op, Elemwise):
        return _elemwise(op, node)
    if isinstance(op, DimShuffle):
        return _dimshuffle(op)
    if isinstance(op, Join):
        return lambda *vectors: tuple([n for v in vectors for n in v])
    if isinstance(op, Subtensor):
        return _subtensor(op)
    return _reduction(op) if isinstance(op, Reduction) else None
