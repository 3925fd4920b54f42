"""The largest and smallest elements along axes, which are NaN where one of the elements is, as one primitive of JAX's.

XLA leaves reductions of 4,096 floats or more on CPUs to a library whose maximum loses NaN. A reduction of two operands
is not left to it, nor are elementwise functions and reductions of 32- and 64-bit integers. How many elements there are
is known only once all maps are applied, so that a primitive decides when it is lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from treadle.link.jax.open_lengths import has_open

# JAX names no classes of its types of arrays, nor of what rules take beside arrays.
Kind: TypeAlias = Any
Axes: TypeAlias = "tuple[int, ...]"

_instantiated: Callable[[Any], jax.Array] = ad.instantiate_zeros
# As `IsInstructionPreferredByYnn` of XLA: what has fewer elements it computes itself.
_LEFT_TO_LIBRARY = 4096
# Of so many slices, elementwise functions take the extremum at once. XLA computes what so many functions take apart,
# and what fewer take as a part of each, which would then go through too many slices.
_SLICES = 16
_REDUCED = {"max": jnp.max, "min": jnp.min}
_ELEMENTWISE = {"max": lax.max, "min": lax.min}


def extremum(kind: str, x: jax.Array, axes: Axes, *, keepdims: bool = False) -> jax.Array:
    """Return the largest (``"max"``) or smallest elements along axes, in the array's dtype, NaN where there is NaN.

    Raises
    ------
    ValueError
        There are no elements along the axes.
    """
    if not jnp.issubdtype(x.dtype, jnp.floating) or not axes:
        return _REDUCED[kind](x, axis=axes, keepdims=keepdims)
    if has_open(x.shape):
        return _beside_nan(x, axes, keepdims, _REDUCED[kind](x, axis=axes, keepdims=keepdims))
    if 0 in x.shape:
        return _REDUCED[kind](x, axis=axes, keepdims=keepdims)
    result: jax.Array = _EXTREMUM.bind(x, axes=axes, kind=kind)
    return lax.expand_dims(result, axes) if keepdims else result


def peak(x: jax.Array, axes: Axes) -> jax.Array:
    """Return the largest elements of floats along axes, which are kept; minus infinity over no elements."""
    is_open = has_open(x.shape)
    if not is_open and 0 not in x.shape:
        return extremum("max", x, axes, keepdims=True)
    best = jnp.max(x, axis=axes, keepdims=True, initial=-np.inf)
    return _beside_nan(x, axes, True, best) if is_open else best


def _beside_nan(x: jax.Array, axes: Axes, keepdims: bool, best: jax.Array) -> jax.Array:
    """Return an extremum, or NaN where there is NaN among the elements, which a second look finds."""
    return jnp.where(jnp.any(jnp.isnan(x), axis=axes, keepdims=keepdims), _nan(x), best)


def _nan(x: jax.Array) -> np.ndarray:
    return np.array(np.nan, x.dtype)


def _by_xla(x: jax.Array, *, axes: Axes, kind: str) -> jax.Array:
    return _REDUCED[kind](x, axis=axes)


def _on_cpu(x: jax.Array, *, axes: Axes, kind: str) -> jax.Array:
    """Return the extremum, by integers along the last axis, and slice by slice along others.

    By integers it takes 0.3 to 1.0 of the time of XLA's own of all elements, and 1.0 to 2.2 along rows; slice by slice
    0.4 to 1.8, where the integers take 2 to 6.
    """
    if x.size < _LEFT_TO_LIBRARY:
        return _by_xla(x, axes=axes, kind=kind)
    shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    long = [d for d, n in enumerate(x.shape) if n > 1]
    y = lax.reshape(x, tuple(x.shape[d] for d in long))
    over = tuple(at for at, d in enumerate(long) if d in axes)
    if not over:
        return lax.reshape(y, shape)
    if over[-1] == y.ndim - 1:
        return lax.reshape(_by_integers(y, over, kind), shape)
    for axis in reversed(over):
        y = _by_slices(y, axis, kind)
    return lax.reshape(y, shape)


def _bits(x: jax.Array) -> np.iinfo[Any]:
    return np.iinfo(f"int{8 * x.dtype.itemsize}")


def _keys(x: jax.Array) -> jax.Array:
    """Return signed integers in the order of floats: NaN with a sign are below all numbers, others above them."""
    limits = _bits(x)
    bits = lax.bitcast_convert_type(x, limits.dtype)
    negative = lax.shift_right_arithmetic(bits, np.array(limits.bits - 1, limits.dtype))
    return bits ^ (negative & np.array(limits.max, limits.dtype))


def _of_keys(keys: jax.Array, dtype: np.dtype) -> jax.Array:
    floats: jax.Array = lax.bitcast_convert_type(_keys(keys), dtype)
    return floats


def _by_integers(x: jax.Array, axes: Axes, kind: str) -> jax.Array:
    """Return the extremum by the largest and the smallest key, of which one is beyond infinity if there is NaN."""
    limits = _bits(x)
    dtype = limits.dtype

    def both(a: Sequence[jax.Array], b: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
        return lax.max(a[0], b[0]), lax.min(a[1], b[1])

    keys = _keys(x)
    starts = np.array(limits.min, dtype), np.array(limits.max, dtype)
    largest, smallest = lax.reduce((keys, keys), starts, both, axes)
    infinity = np.array(np.inf, x.dtype).view(dtype)
    has_nan = (largest > infinity) | (smallest < ~infinity)
    return jnp.where(has_nan, _nan(x), _of_keys(largest if kind == "max" else smallest, x.dtype))


def _by_slices(x: jax.Array, axis: int, kind: str) -> jax.Array:
    """Return the extremum along an axis that is not the last by that of slices, elementwise, again and again.

    A few elements may stand in two slices. A choice ends it, since the library takes over what is computed before sums.
    """
    elementwise = _ELEMENTWISE[kind]
    outer, count, inner = x.shape[:axis], x.shape[axis], prod(x.shape[axis + 1 :])
    # XLA is slow at functions of float16, but not at those of its keys, moved so that all NaN are at one end.
    is_short = x.dtype.itemsize == 2
    moved = np.array(_bits(x).max - np.array(np.inf, x.dtype).view(_bits(x).dtype), _bits(x).dtype)
    moved = -moved if kind == "max" else moved
    y = lax.reshape(_keys(x) + moved if is_short else x, (prod(outer), count * inner))
    at_once = min(_SLICES, count // _SLICES)
    while count > 1:
        length = -(-count // (count if count < 2 * _SLICES else at_once))
        at_once = _SLICES
        starts = [min(at, count - length) for at in range(0, count, length)]
        slices = [lax.slice_in_dim(y, at * inner, (at + length) * inner, axis=1) for at in starts]
        while len(slices) > 1:
            pairs = [elementwise(a, b) for a, b in zip(slices[::2], slices[1::2], strict=False)]
            slices = [*pairs, *slices[2 * len(pairs) :]]
        y, count = slices[0], length
    best = _of_keys(y - moved, x.dtype) if is_short else y
    best = lax.reshape(best, (*outer, *x.shape[axis + 1 :]))
    return jnp.where(best != best, _nan(x), best)


def _pushed(
    operands: Sequence[jax.Array], tangents: Sequence[Any], *, axes: Axes, kind: str
) -> tuple[jax.Array, jax.Array]:
    """Return the extremum and the mean of the tangents at its places, as JAX does."""
    (x,) = operands
    best = _EXTREMUM.bind(x, axes=axes, kind=kind)
    places = (x == lax.expand_dims(best, axes)).astype(x.dtype)
    moved = jnp.sum(places * _instantiated(tangents[0]), axis=axes)
    return best, moved / jnp.sum(places, axis=axes)


def _mapped(operands: Sequence[jax.Array], dims: Sequence[int], *, axes: Axes, kind: str) -> tuple[jax.Array, int]:
    (x,), (batch,) = operands, dims
    along = tuple(axis + (axis >= batch) for axis in axes)
    return _EXTREMUM.bind(x, axes=along, kind=kind), batch - sum(axis < batch for axis in along)


def _kind_of_result(x: Kind, *, axes: Axes, **_: str) -> Kind:
    return lax.reduce_max_p.abstract_eval(x, axes=axes, out_sharding=None)[0]


def _made() -> Any:
    primitive: Any = Primitive("extremum")
    primitive.def_impl(jax.jit(primitive.bind, static_argnames=("axes", "kind")))
    primitive.def_abstract_eval(_kind_of_result)
    ad.primitive_jvps[primitive] = _pushed
    batching.primitive_batchers[primitive] = _mapped
    mlir.register_lowering(primitive, mlir.lower_fun(_by_xla, multiple_results=False))
    mlir.register_lowering(primitive, mlir.lower_fun(_on_cpu, multiple_results=False), platform="cpu")
    return primitive


_EXTREMUM = _made()
