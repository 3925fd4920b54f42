"""Sizes: the shapes of batches of draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import config, text_of
from treadle.graph import Constant
from treadle.tensor.batches.batching import broadcast_length
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.joins.joining import Join, stack
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import as_lengths, lengths, static_lengths
from treadle.tensor.staging.constant_values import get_vector_length
from treadle.tensor.types.conversion import constant, tensors
from treadle.tensor.types.none_and_slices import NoneConst, NoneTypeT
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["normalize_size_param"]

_TOO_LONG = 2**63


def normalize_size_param(shape: Any) -> Any:
    """Return a size as None's variable, or as a vector of int64 whose length is known.

    Parameters
    ----------
    shape
        None, an integer, a sequence of integers and integer scalars, or a vector of known length.

    Raises
    ------
    TensorTypeError
        If it is none of these.

    Examples
    --------
    >>> tt.random.normalize_size_param((2, 3)).eval()
    array([2, 3])
    """
    if shape is None or isinstance(getattr(shape, "type", None), NoneTypeT):
        return NoneConst
    plain = (shape,) if type(shape) is int else shape
    if type(plain) in {tuple, list} and all(type(n) is int and 0 <= n < _TOO_LONG for n in plain):
        return constant(np.array(plain, "int64"))
    dims = as_lengths("size", shape)
    known = static_lengths(dims)
    if any(n is not None and n < 0 for n in known):
        msg = f"size: negative dimensions are not allowed, got {text_of(shape)}. Lengths are 0 or more."
        raise ShapeError(msg)
    if all(isinstance(n, Constant) for n in dims):
        return constant(np.array(known, "int64"))
    return stack(dims)


def size_lengths(size: Variable) -> list[TensorVariable]:
    """Return the lengths that a size vector holds, as int64 scalars."""
    try:
        get_vector_length(size)
    except ValueError as error:
        msg = f"size: a vector of known length is needed, got {text_of(size)}. List the lengths."
        raise TensorTypeError(msg) from error
    return as_lengths("size", size)


def joined_lengths(size: Variable) -> list[TensorVariable]:
    """Return the same, where the vector was joined of scalars these: what depends on them needs no vector."""
    parts = size.owner.inputs if size.owner is not None and isinstance(size.owner.op, Join) else [size]
    scalars: list[TensorVariable] = []
    for part in tensors(parts):
        node = part.owner
        if node is not None and isinstance(node.op, DimShuffle) and node.op.ndim == 0:
            scalars.append(node.inputs[0])
        else:
            scalars += size_lengths(part)
    return scalars


def static_batch(size: Variable) -> tuple[int | None, ...]:
    """Return the lengths in a size vector that are known, None for others."""
    if isinstance(size, Constant):
        return tuple(size.data.tolist())
    return static_lengths(size_lengths(size))


def padded(size: Variable, parameters: Sequence[Any], ranks: Sequence[int]) -> list[Any]:
    """Return parameters with as many batch dimensions as the draws have, where option `random__parameters` says so."""
    if config.random__parameters != "padded":
        return list(parameters)
    tensors = [isinstance(p.type, TensorType) for p in parameters]
    own = [p.ndim - rank if ok else 0 for p, rank, ok in zip(parameters, ranks, tensors, strict=True)]
    batch = max(own, default=0) if isinstance(size.type, NoneTypeT) else len(static_batch(size))
    return [
        dimshuffle(p, *[NEW] * (batch - count), *range(p.ndim)) if ok and count < batch else p
        for p, count, ok in zip(parameters, own, tensors, strict=True)
    ]


def batch_lengths(size: Variable, parameters: Sequence[tuple[Any, int]]) -> list[TensorVariable]:
    """Return the lengths of a batch as int64 scalars.

    Parameters
    ----------
    size
        The size, or None's variable.
    parameters
        Parameters and their ranks for a single draw, whose batch dimensions broadcast where there is no size.
    """
    if not isinstance(size.type, NoneTypeT):
        return size_lengths(size)
    ndim = max((p.ndim - rank for p, rank in parameters), default=0)
    result: list[TensorVariable] = []
    for back in range(ndim, 0, -1):
        of = []
        for p, rank in parameters:
            at = p.ndim - rank - back
            if at >= 0:
                of.append(lengths(p)[at])
        result.append(broadcast_length(of))
    return result


def length_of(scalar: Variable, size: Variable, shapes: SymbolicShapes) -> Length:
    """Return an element of a size as a length, which may be computed wherever the size is at hand."""
    if scalar.owner is None or scalar.owner.inputs[0] is not size:
        return shapes.given(scalar)
    return shapes.atom("given", shapes.atom("made", scalar, size, natural=False))


def fits(shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    """Whether an array of a shape broadcasts to the shape of a batch."""
    pairs = zip(reversed(shape), reversed(batch), strict=False)
    return len(shape) <= len(batch) and all(n in {1, m} for n, m in pairs)
