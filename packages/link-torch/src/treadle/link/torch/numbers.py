"""Nodes computed with Python integers while a program is traced: what leads to lengths and bounds.

Under torch.compile a length is a symbolic integer. As long as lengths are computed from lengths with Python's own
arithmetic they stay symbolic, so that one compiled program serves all shapes.
"""

from __future__ import annotations

import operator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor import (
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
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import Apply

# A host value is an integer, or a tuple of integers for a vector.
Host = Any


def _floor_div(a: Any, b: Any) -> Any:
    return 0 if b == 0 else a // b


def _mod(a: Any, b: Any) -> Any:
    return 0 if b == 0 else a % b


_SCALARS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "floor_div": _floor_div,
        "mod": _mod,
        "neg": operator.neg,
        "abs": lambda a: -a if a < 0 else a,
        "sqr": lambda a: a * a,
        "sign": lambda a: (a > 0) - (a < 0),
        "maximum": max,
        "minimum": min,
        "identity": lambda a: a,
        "switch": lambda c, a, b: a if c else b,
        "eq": operator.eq,
        "neq": operator.ne,
        "lt": operator.lt,
        "le": operator.le,
        "gt": operator.gt,
        "ge": operator.ge,
        "cast_int8": lambda a: a,
        "cast_int16": lambda a: a,
        "cast_int32": lambda a: a,
        "cast_int64": lambda a: a,
        "ceil": lambda a: a,
        "floor": lambda a: a,
        "trunc": lambda a: a,
    }
)


def _wrapper(dtype: str) -> Callable[[Any], Any] | None:
    """Return the function that wraps an integer to a short dtype. Lengths in int64 have no room to overflow."""
    if dtype in {"int64", "bool"}:
        return None
    half = 2 ** (np.dtype(dtype).itemsize * 8 - 1)

    def wrap(a: Any) -> Any:
        return a if -half <= a < half else (a + half) % (2 * half) - half

    return wrap


def _over_vectors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of integers as one of vectors of one length (or of length 1)."""

    def each(*vectors: Any) -> Any:
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


def _is_number(var: Any) -> bool:
    return getattr(var.type, "ndim", 9) <= 1 and getattr(var.type, "dtype", "") in {
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
    }


def _elemwise(op: Elemwise, node: Apply) -> Callable[..., Any] | None:
    scalar_op = op.scalar_op
    if isinstance(scalar_op, Composite) or any(d.kind not in "bi" for d in op.loop_dtypes(node)):
        return None
    function = _SCALARS.get(scalar_op.name)
    out: Any = node.outputs[0].type
    if function is None or (
        out.dtype == "bool" and scalar_op.name not in {"eq", "neq", "lt", "le", "gt", "ge", "identity"}
    ):
        return None
    wrap = _wrapper(out.dtype)
    plain = function
    scalar = plain if wrap is None else (lambda *xs: wrap(plain(*xs)))
    return _over_vectors(scalar) if out.ndim else scalar


def _dimshuffle(op: DimShuffle, node: Apply) -> Callable[..., Any] | None:
    del node
    if op.order == ("x",) and op.ndim == 0:
        return lambda a: (a,)
    if op.order == (0,) and op.ndim == 1:
        return lambda v: v
    if op.order == () and op.ndim == 1:
        return _only
    return None


def _only(vector: Any) -> Any:
    if len(vector) != 1:
        msg = "a dropped dimension must have length 1"
        raise ValueError(msg)
    return vector[0]


def _join(op: Join, node: Apply) -> Callable[..., Any] | None:
    del op, node

    def join(*vectors: Any) -> Any:
        result: tuple[Any, ...] = ()
        for v in vectors:
            result = result + v
        return result

    return join


def _subtensor(op: Subtensor, node: Apply) -> Callable[..., Any] | None:
    del node
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


def _reduction(op: Reduction, node: Apply) -> Callable[..., Any] | None:
    del node
    combine = {"sum": operator.add, "prod": operator.mul}.get(op.kind)
    if combine is None or op.axes != (0,) or op.dtype != "int64" or op.acc_dtype != "int64":
        return None
    first = 0 if op.kind == "sum" else 1

    def reduce(vector: Any) -> Any:
        result = first
        for a in vector:
            result = combine(result, a)
        return result

    return reduce


_RULES: Sequence[tuple[type, Callable[..., Callable[..., Any] | None]]] = (
    (Elemwise, _elemwise),
    (DimShuffle, _dimshuffle),
    (Join, _join),
    (Subtensor, _subtensor),
    (Reduction, _reduction),
)


def length_of(node: Apply) -> Callable[[Any], Host] | None:
    """Return the function that reads a shape off a tensor, for the ops that do; else None."""
    op = node.op
    if isinstance(op, ShapeI):
        axis = op.axis
        return lambda x: x.shape[axis]
    if isinstance(op, Shape):
        return lambda x: tuple(x.shape)
    return None


def on_numbers(node: Apply) -> Callable[..., Host] | None:
    """Return a function of Python integers (tuples for vectors) that computes the node, or None if there is none."""
    if not all(_is_number(v) for v in (*node.inputs, *node.outputs)):
        return None
    for op_type, rule in _RULES:
        if isinstance(node.op, op_type):
            return rule(node.op, node)
    return None
