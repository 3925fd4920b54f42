"""Dimensions put in order, renamed, joined, split, added and taken away."""

from __future__ import annotations

import warnings
from types import EllipsisType
from typing import TYPE_CHECKING, Literal

import numpy as np

import treadle.tensor as plain
from treadle.config import text_of
from treadle.graph import Apply, Variable, VectorizeError, as_index, static_op
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError, NamedTypeError
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.types.casts import aligned, tensor_of
from treadle.named.types.named_type import Batched, Input, XTensorType, as_dims, dims_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.named.variables import XTensorVariable
    from treadle.tensor import TensorVariable


def as_length(what: str, value: object) -> TensorVariable:
    """Return a length as an integer scalar: a number, a plain tensor, or a named one without dimensions."""
    if isinstance(value, Variable) and isinstance(value.type, XTensorType):
        value = tensor_of(value)
    length = plain.as_tensor(value)  # type: ignore[arg-type]  # what is no tensor is refused
    if length.ndim or np.dtype(length.dtype).kind not in "iu":
        msg = f"{what}: a length must be an integer, got {text_of(value)}. Pass a number or an integer scalar."
        raise NamedTypeError(msg)
    known = as_index(length)
    if known is not None and known < 0:
        msg = f"{what}: a length must be 0 or more, got {known}."
        raise DimsError(msg)
    return length


def scalar_lengths(what: str, old: Sequence[Input], new: Sequence[Input]) -> list[Input]:
    """Return lengths for a batch, which must be the same for the whole of it.

    Raises
    ------
    VectorizeError
        If they may differ.
    """
    result = []
    for before, after in zip(old, new, strict=True):
        batch = after.ndim - before.ndim
        if any(n != 1 for n in after.type.shape[:batch]):
            msg = f"{what}: lengths must be the same for the whole batch, got {after}"
            raise VectorizeError(msg)
        result.append(after.squeeze(tuple(range(batch))) if batch else after)
    return result


def only_one(what: str, positional: object, by_name: Mapping[str, Input]) -> Mapping[str, Input]:
    """Return arguments given as a mapping or by name."""
    if positional is None:
        return by_name
    if by_name:
        msg = f"{what}: dimensions are given both in a mapping and by name, got {tuple(by_name)}. Give them once."
        raise DimsError(msg)
    if not hasattr(positional, "items"):
        msg = f"{what}: a mapping of dimensions is needed, got {text_of(positional)}. Pass a dictionary."
        raise NamedTypeError(msg)
    return positional  # type: ignore[return-value]  # a mapping, by its method


@static_op
class Rename(XOp):
    """A tensor with other names for its dimensions.

    Parameters
    ----------
    new_dims
        All of the names, in order.
    """

    new_dims: tuple[str, ...]

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the tensor itself."""
        (x,) = inputs
        if len(self.new_dims) != x.type.ndim:
            msg = f"Rename: names for the dimensions {x.type.dims} are needed, got {self.new_dims}. Give as many."
            raise DimsError(msg)
        return [Lowered(tensor_of(x), as_dims("rename", self.new_dims))]

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Rename the dimensions that the operand had; others keep their names."""
        (x,) = inputs
        names = dict(zip(dims_of(node.inputs[0]), self.new_dims, strict=True))
        result: Variable = Rename(tuple(names.get(d, d) for d in x.type.dims))(x)
        return result


def rename(x: object, /, name_dict: Mapping[str, str] | None = None, **names: str) -> XTensorVariable:
    """Return a tensor with other names for some of its dimensions.

    Parameters
    ----------
    x
        The tensor.
    name_dict, names
        New names by the old ones, as a mapping or by name.

    Raises
    ------
    DimsError
        If it has no dimension of an old name, or two would have one name.
    """
    x = as_xtensor(x)
    new = list(x.type.dims)
    for old, name in only_one("rename", name_dict, names).items():
        if old not in x.type.dims:
            msg = f"rename: {old!r} cannot become {name!r}, {x} has the dimensions {x.type.dims}. Name one of these."
            raise DimsError(msg)
        new[x.type.dims.index(old)] = name
    result: XTensorVariable = Rename(tuple(new))(x)
    return result


@static_op
class Transpose(XOp):
    """A tensor with its dimensions in another order.

    Parameters
    ----------
    dims
        All of them.
    """

    dims: tuple[str, ...]

    def __init__(self, dims: Sequence[str]) -> None:
        object.__setattr__(self, "dims", as_dims("transpose", dims))

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the tensor with its axes in this order."""
        (x,) = inputs
        if set(self.dims) != set(x.type.dims):
            msg = f"transpose: an order of the dimensions {x.type.dims} is needed, got {self.dims}. Name each once."
            raise DimsError(msg)
        return [Lowered(aligned(x, self.dims), self.dims)]

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Put new dimensions in front."""
        (x,) = inputs
        result: Variable = Transpose((*(d for d in x.type.dims if d not in self.dims), *self.dims))(x)
        return result


Missing = Literal["raise", "warn", "ignore"]


def without_missing(
    what: str, dims: Sequence[str | EllipsisType], own: Sequence[str], missing_dims: str
) -> list[str | EllipsisType]:
    """Return names without those that a tensor does not have, which are refused, warned of or ignored."""
    if missing_dims not in {"raise", "warn", "ignore"}:
        msg = f"{what}: missing_dims must be raise, warn or ignore, got {text_of(missing_dims)}."
        raise DimsError(msg)
    absent = [d for d in dims if d is not Ellipsis and d not in own]
    if absent and missing_dims != "ignore":
        msg = f"{what}: the dimensions {tuple(absent)} do not exist, the tensor has {tuple(own)}. Name some of these."
        if missing_dims == "raise":
            raise DimsError(msg)
        warnings.warn(msg, UserWarning, stacklevel=4)
    return [d for d in dims if d not in absent]


def transpose(x: object, *dim: str | EllipsisType, missing_dims: Missing = "raise") -> XTensorVariable:
    """Return a tensor with its dimensions in another order; in the opposite one if none is named.

    Parameters
    ----------
    x
        The tensor.
    dim
        The dimensions in order; an ellipsis stands for those that are not named.
    missing_dims
        What to do about a name that it does not have: ``raise``, ``warn`` or ``ignore``.

    Raises
    ------
    DimsError
        If names are missing or superfluous, or there are two ellipses.

    Examples
    --------
    >>> from treadle.named import xtensor
    >>> xtensor("x", dims=("a", "b", "c")).transpose("c", ...).dims
    ('c', 'a', 'b')
    """
    x = as_xtensor(x)
    own = x.type.dims
    if not dim:
        order: tuple[Input, ...] = own[::-1]
    else:
        given = without_missing("transpose", dim, own, missing_dims)
        if given.count(Ellipsis) > 1:
            msg = f"transpose: one ellipsis may stand for the other dimensions, got {given.count(Ellipsis)}. Use one."
            raise DimsError(msg)
        rest = [d for d in own if d not in given]
        at = given.index(Ellipsis) if Ellipsis in given else len(given)
        order = (*given[:at], *(rest if Ellipsis in given else ()), *given[at + 1 :])
    return x if order == own else Transpose(order)(x)


@static_op
class Stack(XOp):
    """Dimensions joined to one, the last; the last of them varies fastest.

    Parameters
    ----------
    new_dim_name
        Its name.
    stacked_dims
        The dimensions.
    """

    new_dim_name: str
    stacked_dims: tuple[str, ...]

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the tensor with these axes last, joined."""
        (x,) = inputs
        own = x.type.dims
        if not self.stacked_dims or not set(self.stacked_dims) <= set(own):
            msg = f"stack: some of the dimensions {own} are needed, got {self.stacked_dims}. Name some that it has."
            raise DimsError(msg)
        if self.new_dim_name in own:
            msg = f"stack: {x} has a dimension {self.new_dim_name!r} already. Choose another name."
            raise DimsError(msg)
        kept = tuple(d for d in own if d not in self.stacked_dims)
        tensor = aligned(x, (*kept, *as_dims("stack", self.stacked_dims)))
        joined = plain.join_dims(tensor, len(kept), len(self.stacked_dims))
        return [Lowered(joined, (*kept, self.new_dim_name))]


def stack(x: object, /, dim: Mapping[str, Sequence[str]] | None = None, **dims: Sequence[str]) -> XTensorVariable:
    """Return a tensor with dimensions joined to new ones, which come last.

    Parameters
    ----------
    x
        The tensor.
    dim, dims
        For each new dimension, those that it is made of: as a mapping or by name.

    Raises
    ------
    NamedTypeError
        If one name is given instead of several.
    DimsError
        If the tensor has not these dimensions, or has the new one already.
    """
    result = as_xtensor(x)
    for new, stacked in only_one("stack", dim, dims).items():
        if isinstance(stacked, str):
            msg = f"stack: the dimensions to be joined are a sequence of names, got the single one {stacked!r}."
            raise NamedTypeError(msg)
        result = Stack(new, tuple(stacked))(result)
    return result


@static_op
class UnStack(XOp):
    """A dimension split into several, which come last; the last of them varies fastest.

    Parameters
    ----------
    old_dim_name
        The dimension.
    unstacked_dims
        What it is split into.
    """

    old_dim_name: str
    unstacked_dims: tuple[str, ...]

    def make_node(self, *inputs: Input) -> Apply:
        """Return the node of a tensor and the lengths of the new dimensions.

        Raises
        ------
        DimsError
            If there are more or fewer lengths than dimensions, or only one, or names do not fit.
        """
        x, *lengths = inputs
        x = as_xtensor(x)
        if len(lengths) != len(self.unstacked_dims) or len(lengths) < 2:
            msg = (
                f"unstack: two dimensions or more, each with its length, are needed, got {self.unstacked_dims} with "
                f"{len(lengths)} lengths. Use rename for one."
            )
            raise DimsError(msg)
        return self.node_of([x, *(as_length("unstack", n) for n in lengths)])

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the tensor with that axis last, split."""
        x, *lengths = inputs
        own = x.type.dims
        if self.old_dim_name not in own:
            msg = f"unstack: {x} has no dimension {self.old_dim_name!r}, but {own}. Name one of these."
            raise DimsError(msg)
        kept = tuple(d for d in own if d != self.old_dim_name)
        taken = [d for d in self.unstacked_dims if d in own]
        if taken:
            msg = f"unstack: {x} has the dimensions {tuple(taken)} already. Choose other names."
            raise DimsError(msg)
        tensor = aligned(x, (*kept, self.old_dim_name))
        split = plain.split_dims(tensor, lengths, len(kept))
        return [Lowered(split, (*kept, *as_dims("unstack", self.unstacked_dims)))]

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Split the same dimension."""
        x, *lengths = inputs
        return self.make_node(x, *scalar_lengths("unstack", node.inputs[1:], lengths))


def unstack(
    x: object, /, dim: Mapping[str, Mapping[str, object]] | None = None, **dims: Mapping[str, object]
) -> XTensorVariable:
    """Return a tensor with dimensions split into others, which come last.

    Parameters
    ----------
    x
        The tensor.
    dim, dims
        For each dimension, the lengths of those that it is split into, by name.

    Raises
    ------
    DimsError
        If names or lengths do not fit.
    """
    result = as_xtensor(x)
    for old, parts in only_one("unstack", dim, dims).items():
        result = UnStack(old, tuple(parts))(result, *parts.values())
    return result


@static_op
class Squeeze(XOp):
    """A tensor without some dimensions of length 1.

    Parameters
    ----------
    dims
        The dimensions.
    """

    dims: tuple[str, ...]

    def __init__(self, dims: Sequence[str]) -> None:
        object.__setattr__(self, "dims", tuple(sorted(set(dims))))

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the tensor without these axes."""
        (x,) = inputs
        sizes = x.type.sizes
        for d in self.dims:
            if d not in sizes:
                msg = f"squeeze: {x} has no dimension {d!r}, but {x.type.dims}. Name one of these."
                raise DimsError(msg)
            if sizes[d] not in {None, 1}:
                msg = f"squeeze: the dimension {d!r} of {x} has the length {sizes[d]}, not 1. Index it instead."
                raise DimsError(msg)
        axes = tuple(i for i, d in enumerate(x.type.dims) if d in self.dims)
        return [Lowered(plain.squeeze(tensor_of(x), axes), tuple(d for d in x.type.dims if d not in self.dims))]


def squeeze(x: object, dim: str | Sequence[str] | None = None) -> XTensorVariable:
    """Return a tensor without dimensions of length 1: those named, or all that are known to have it.

    Raises
    ------
    DimsError
        If it does not have one of them, or it is known to be longer.
    """
    x = as_xtensor(x)
    dims = [d for d, n in x.type.sizes.items() if n == 1] if dim is None else as_dims("squeeze", dim)
    return Squeeze(dims)(x) if dims else x


@static_op
class ExpandDims(XOp):
    """A tensor with a further dimension in front, along which it is repeated.

    Parameters
    ----------
    dim
        Its name.
    """

    dim: str

    def make_node(self, *inputs: Input) -> Apply:
        """Return the node of a tensor and the length of the dimension."""
        x, size = inputs
        return self.node_of([as_xtensor(x), as_length("expand_dims", size)])

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the tensor repeated along a new axis."""
        x, size = inputs
        if self.dim in x.type.dims:
            msg = f"expand_dims: {x} has a dimension {self.dim!r} already. Choose another name."
            raise DimsError(msg)
        tensor = tensor_of(x)
        if as_index(size) == 1:
            wide = plain.shape_padleft(tensor)
        else:
            wide = plain.broadcast_to(tensor, [size, *(tensor.shape[i] for i in range(tensor.ndim))])
        return [Lowered(wide, (self.dim, *x.type.dims))]

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Add the same dimension."""
        x, size = inputs
        return self.make_node(x, *scalar_lengths("expand_dims", node.inputs[1:], [size]))


def expand_dims(
    x: object, /, dim: object = None, axis: int | Sequence[int] | None = None, **dim_kwargs: object
) -> XTensorVariable:
    """Return a tensor with further dimensions, in front or at positions.

    Parameters
    ----------
    x
        The tensor.
    dim, dim_kwargs
        A name or several, of length 1; or lengths by name, as a mapping or by name. Of a sequence in place of a length
        only the length counts.
    axis
        Positions of the new dimensions in the result, one for each.

    Raises
    ------
    NamedTypeError
        If `dim` is something else.
    DimsError
        If the tensor has one of them already, or there are not as many positions as dimensions.
    """
    result = as_xtensor(x)
    own = result.dims
    if isinstance(dim, str | tuple | list):
        if dim_kwargs:
            only_one("expand_dims", {}, dim_kwargs)
        sizes: dict[str, Input] = dict.fromkeys(as_dims("expand_dims", dim), 1)
    else:
        sizes = dict(only_one("expand_dims", dim, dim_kwargs))
    for name, size in sizes.items():
        if isinstance(size, list | tuple | np.ndarray):
            warnings.warn(
                f"expand_dims: of the values given for {name!r} only their number counts, tensors have no coordinates. "
                "Pass the number.",
                UserWarning,
                stacklevel=3,
            )
            sizes[name] = len(size)
    for name, size in reversed(sizes.items()):
        result = ExpandDims(name)(result, size)
    if axis is None:
        return result
    places = [axis] if isinstance(axis, int) else list(axis)
    if len(places) != len(sizes):
        msg = f"expand_dims: a position is needed for each of {tuple(sizes)}, got {places}. Give as many."
        raise DimsError(msg)
    order = list(own)
    for name, at in zip(sizes, places, strict=True):
        order.insert(len(order) + at + 1 if at < 0 else at, name)
    return transpose(result, *order)


__all__ = [
    "ExpandDims", "Rename", "Squeeze", "Stack", "Transpose", "UnStack", "expand_dims", "rename", "squeeze", "stack",
    "transpose", "unstack",
]  # fmt: skip
