"""Lengths that `jax.export` leaves open: JAX's expressions of them, in NumPy arrays of objects.

A number that follows from such lengths is computed with JAX's own arithmetic of lengths while the graph is traced.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from treadle.graph import Apply, NodeTypeError
from treadle.tensor import (
    CASTS,
    LENGTH_OPERATORS,
    REDUCED_BY,
    DimShuffle,
    Elemwise,
    Join,
    Reduction,
    Subtensor,
    tensors,
)

# A comparison that does not hold for all lengths, or for none, raises JAX's error; its own functions ask for none.
_OPERATORS: Mapping[str, Callable[..., object]] = MappingProxyType(
    {
        **LENGTH_OPERATORS,
        "floor_div": operator.floordiv,
        "mod": operator.mod,
        "maximum": lambda *xs: reduce(jax.core.max_dim, xs),
        "minimum": lambda *xs: reduce(jax.core.min_dim, xs),
    }
)


def is_open(value: object) -> bool:
    """Whether a known value has lengths that are open."""
    return isinstance(value, np.ndarray) and value.dtype == object


def has_open(shape: Sequence[object]) -> bool:
    """Whether lengths of a shape are open."""
    return not all(isinstance(n, int) for n in shape)


def as_known(numbers: object, dtype: str = "int64") -> np.ndarray:
    """Return a length, or a sequence of them, as an array: of a dtype if none of them is open."""
    array = np.empty(len(numbers) if isinstance(numbers, tuple) else (), object)
    array[...] = numbers
    return _as_array(array, dtype)


def as_length(value: object) -> int:
    """Return a known number as a length, which may be open."""
    item: Any = np.asarray(value).item()
    if not export.is_symbolic_dim(item):
        return int(item)
    open_length: Any = item  # which JAX takes for a length
    return open_length  # type: ignore[no-any-return]


def as_traced(value: Any) -> jax.Array:
    """Return a value as one of JAX's; of lengths that are open it is what they are when exported code runs."""
    if not is_open(value):
        return jnp.asarray(value)
    return jnp.stack([jnp.asarray(n, "int64") for n in value.ravel()]).reshape(value.shape)


def computed(node: Apply, values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the outputs of a node, of known numbers of which some are open lengths.

    Raises
    ------
    NodeTypeError
        If JAX has no arithmetic of lengths for the op.
    """
    op = node.op
    dtype = tensors(node.outputs)[0].type.dtype
    objects = [x.astype(object) for x in values]
    function: Callable[..., object] | None = None
    if isinstance(op, Elemwise):
        function = (lambda x: x) if op.scalar_op in _CASTS else _OPERATORS.get(op.scalar_op.name)
    elif isinstance(op, Reduction) and objects[0].ndim == len(op.axes) == 1 and objects[0].size:
        function = _OPERATORS.get(REDUCED_BY.get(op.kind, ""))
    elif isinstance(op, DimShuffle | Subtensor):
        # Which move elements, whatever they are.
        cell: list[Any] = [None]
        op.perform(node, [objects[0], *values[1:]], [cell])
        return [_as_array(np.asarray(cell[0], object), dtype)]
    elif isinstance(op, Join):
        return [_as_array(np.concatenate(objects, op.axis), dtype)]
    if function is None:
        msg = f"{op}: JAX has no arithmetic of open lengths for it{node.where()}. Export the function for each length."
        raise NodeTypeError(msg)
    if isinstance(op, Reduction):
        return [as_known(reduce(function, objects[0].tolist()), dtype)]
    return [_as_array(np.asarray(np.frompyfunc(function, len(objects), 1)(*objects), object), dtype)]


def _as_array(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return numbers as an array of a dtype, if no open length is among them."""
    is_known = not any(map(export.is_symbolic_dim, values.ravel().tolist()))
    return values.astype(dtype) if is_known else values


_CASTS = frozenset(cast.scalar_op for name, cast in CASTS.items() if np.dtype(name).kind in "if")
