"""Tensors joined along a dimension and broadcast against each other; tensors filled with a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import treadle.tensor as plain
from treadle.graph import Apply, static_op
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError
from treadle.named.math import cast
from treadle.named.ops.elementwise import PYTHON_NUMBERS, elementwise
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.types.casts import aligned, tensor_of
from treadle.named.types.named_type import Input, as_dims, joined_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from treadle.named.variables import XTensorVariable


@static_op
class Concat(XOp):
    """Tensors one after the other along a dimension; those that lack it have length 1 there.

    Parameters
    ----------
    dim
        The dimension.
    """

    dim: str

    def make_node(self, *inputs: Input) -> Apply:
        """Return the node. Python numbers take the dtype of the tensors, as they do in arithmetic."""
        numbers = [type(x) in PYTHON_NUMBERS for x in inputs]
        named = [x if is_number else as_xtensor(x) for x, is_number in zip(inputs, numbers, strict=True)]
        if any(numbers) and not all(numbers):
            # NumPy's rule for numbers next to arrays.
            parts: list[Input] = [
                x if is_number else np.empty(0, x.dtype) for x, is_number in zip(named, numbers, strict=True)
            ]
            dtype = np.result_type(*parts)
            named = [as_xtensor(dtype.type(x)) if n else x for x, n in zip(named, numbers, strict=True)]
        return super().make_node(*named)

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the tensors joined along the axis, the others broadcast."""
        if not inputs:
            msg = "concat: one tensor or more is needed, got none."
            raise DimsError(msg)
        dims = tuple(dict.fromkeys(d for x in inputs for d in x.type.dims))
        joined_lengths("concat", [x.type for x in inputs], exclude=(self.dim,))
        dims = dims if self.dim in dims else (self.dim, *dims)
        joined = plain.concat_with_broadcast([aligned(x, dims) for x in inputs], dims.index(self.dim))
        return [Lowered(joined, dims)]


def concat(xtensors: Sequence[object], dim: str) -> XTensorVariable:
    """Return tensors one after the other along a dimension, which is put in front where none has it.

    Parameters
    ----------
    xtensors
        The tensors. One that lacks the dimension has length 1 there; they are broadcast along the others.
    dim
        The dimension.

    Raises
    ------
    DimsError
        If other dimensions have different lengths.
    """
    result: XTensorVariable = Concat(dim)(*xtensors)
    return result


@static_op
class Broadcast(XOp):
    """Tensors with the dimensions of all of them.

    Parameters
    ----------
    exclude
        Dimensions that are left as they are, and come last.
    """

    exclude: tuple[str, ...] = ()

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the tensors repeated along the axes that they lack."""
        dims = tuple(joined_lengths("broadcast", [x.type for x in inputs], self.exclude))
        lengths = []
        for d in dims:
            owner = next(x for x in inputs if d in x.type.dims)
            known = next((x.type.sizes[d] for x in inputs if x.type.sizes.get(d) is not None), None)
            at = owner.type.dims.index(d)
            lengths.append(tensor_of(owner).shape[at] if known is None else plain.constant(known, dtype="int64"))
        results = []
        for x in inputs:
            own = tuple(d for d in self.exclude if d in x.type.dims)
            order = (*dims, *own)
            tensor = aligned(x, order)
            if not set(dims) <= set(x.type.dims):
                tail = [tensor.shape[i] for i in range(len(dims), len(order))]
                tensor = plain.broadcast_to(tensor, [*lengths, *tail])
            results.append(Lowered(tensor, order))
        return results


def broadcast(*args: object, exclude: str | Sequence[str] | None = None) -> tuple[XTensorVariable, ...]:
    """Return tensors that all have the dimensions of all of them, in order of appearance.

    Parameters
    ----------
    args
        The tensors.
    exclude
        Dimensions that are not broadcast, and come last.

    Raises
    ------
    DimsError
        If dimensions of one name have different lengths.
    """
    left_out = () if exclude is None else as_dims("broadcast", exclude)
    return tuple(Broadcast(left_out)(*args, return_list=True)) if args else ()  # type: ignore[arg-type]


def full_like(x: object, fill_value: object, dtype: DTypeLike | None = None) -> XTensorVariable:
    """Return a tensor of the dimensions and lengths of another, filled with a number.

    Parameters
    ----------
    x
        The other tensor.
    fill_value
        A scalar.
    dtype
        The dtype; that of the other by default.

    Raises
    ------
    DimsError
        If the value has dimensions.
    """
    x, value = as_xtensor(x), as_xtensor(fill_value)
    if value.type.ndim:
        msg = f"full_like: the value must be a scalar, got {value} of {value.type.dims}."
        raise DimsError(msg)
    result: XTensorVariable = elementwise(plain.second, x, cast(value, x.type.dtype if dtype is None else dtype))
    return result


def ones_like(x: object, dtype: DTypeLike | None = None) -> XTensorVariable:
    """Return ones of the dimensions and lengths of a tensor."""
    return full_like(x, 1, dtype)


def zeros_like(x: object, dtype: DTypeLike | None = None) -> XTensorVariable:
    """Return zeros of the dimensions and lengths of a tensor."""
    return full_like(x, 0, dtype)


__all__ = ["Broadcast", "Concat", "broadcast", "concat", "full_like", "ones_like", "zeros_like"]
