"""Indexing by position: parts of named tensors, read, written and added to.

An index that is an array has named dimensions itself, or one dimension, and takes the one that it indexes by default.
Arrays with different dimensions index independently (outer indexing), arrays with dimensions in common go together
(vectorised indexing), as in xarray.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

import treadle.tensor as plain
from treadle.config import text_of
from treadle.graph import Apply, Variable, static_op
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError, NamedIndexError, NamedTypeError
from treadle.named.joining import broadcast
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.shape import transpose
from treadle.named.types.casts import aligned, tensor_of, xtensor_from_tensor
from treadle.named.types.named_type import Batched, Input, XTensorType, as_dims, dims_of
from treadle.tensor import NoneTypeT, SliceType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.named.variables import XTensorVariable

_ALL = slice(None)


def _is_slice(index: object) -> bool:
    return isinstance(index, slice) or (isinstance(index, Variable) and isinstance(index.type, SliceType))


def _is_pair(index: object) -> bool:
    """Whether an index is an array with its dimensions: ``("x", array)``."""
    if not (isinstance(index, tuple) and len(index) == 2):
        return False
    names = index[0]
    return isinstance(names, str) or (
        isinstance(names, tuple | list) and bool(names) and all(isinstance(d, str) for d in names)
    )


def _as_index(index: Input, dim: str) -> Input:
    """Return an index of one dimension as a variable: a slice, or a named tensor of integers."""
    if index is None or (isinstance(index, Variable) and isinstance(index.type, NoneTypeT)):
        msg = f"index: the dimension {dim!r} is indexed by None, which names no dimension. Use expand_dims."
        raise NamedTypeError(msg)
    if _is_slice(index):
        if isinstance(index, slice):
            index = slice(*(_bound(b) for b in (index.start, index.stop, index.step)))
        return plain.as_index_variable(index)
    if _is_pair(index):
        names, array = index
        if isinstance(array, Variable) and isinstance(array.type, XTensorType):
            msg = f"index: {array} has names for its dimensions already, got {names} as well. Rename it instead."
            raise NamedIndexError(msg)
        index = as_xtensor(plain.as_tensor(array), dims=as_dims("index", names))
    elif not (isinstance(index, Variable) and isinstance(index.type, XTensorType)):
        index = _as_named(index, dim)
    return _as_positions(index, dim)


def _bound(bound: object) -> object:
    """Return the bound of a slice as a plain scalar."""
    if isinstance(bound, Variable) and isinstance(bound.type, XTensorType):
        return tensor_of(bound)
    return bound


def _as_named(index: Input, dim: str) -> Input:
    """Return an index without names as a tensor along the dimension that it indexes."""
    try:
        return as_xtensor(index)
    except NamedTypeError:
        tensor = plain.as_tensor(index)
    if tensor.ndim > 1:
        msg = (
            f"index: the array that indexes {dim!r} has {tensor.ndim} dimensions without names. Give them names, as in "
            "(('a', 'b'), array)."
        )
        raise NamedIndexError(msg)
    return xtensor_from_tensor(tensor, (dim,)[: tensor.ndim])


def _as_positions(index: Input, dim: str) -> Input:
    """Return an index of integers; those at which a mask holds."""
    kind = np.dtype(index.type.dtype).kind
    if kind == "b":
        if index.type.dims != (dim,):
            msg = (
                f"index: a mask of {dim!r} has just that dimension, got one of {index.type.dims}. "
                "Rename it, or use where."
            )
            raise NamedIndexError(msg)
        return xtensor_from_tensor(plain.nonzero(tensor_of(index))[0], (dim,))
    if kind not in "iu":
        msg = f"index: positions along {dim!r} are integers or a mask, got {index} of type {index.type}. Cast it."
        raise NamedTypeError(msg)
    return index


def as_indices(x: XTensorVariable, indices: Sequence[object]) -> list[Variable]:
    """Return an index for each dimension up to the last that one is given for.

    Raises
    ------
    NamedIndexError
        If there are too many, or two ellipses.
    """
    own = x.type.dims
    at = [i for i, index in enumerate(indices) if index is Ellipsis]
    if len(at) > 1:
        msg = f"index: one ellipsis may stand for the other dimensions, got {len(at)}. Use one."
        raise NamedIndexError(msg)
    if at:
        missing = max(len(own) - len(indices) + 1, 0)
        indices = [*indices[: at[0]], *[_ALL] * missing, *indices[at[0] + 1 :]]
    if len(indices) > len(own):
        msg = f"index: {x} has the dimensions {own}, got {len(indices)} indices. Give one for each at most."
        raise NamedIndexError(msg)
    used = len(indices)
    while used and isinstance(indices[used - 1], slice) and indices[used - 1] == _ALL:
        used -= 1
    return [_as_index(index, d) for index, d in zip(indices[:used], own, strict=False)]


class _Plan(NamedTuple):
    """One index expression on plain tensors.

    Attributes
    ----------
    order
        The dimensions of the tensor in the order in which they are indexed.
    indices
        The index of each.
    result
        The dimensions of what is read.
    output
        The same, in the order that the named result has.
    """

    order: tuple[str, ...]
    indices: tuple[Input, ...]
    result: tuple[str, ...]
    output: tuple[str, ...]


def _plan(x: XTensorVariable, given: Sequence[Input]) -> _Plan:
    own = x.type.dims
    by_dim = dict(zip(own, [*given, *[_ALL] * (len(own) - len(given))], strict=True))
    arrays = {d: i for d, i in by_dim.items() if not _is_slice(i) and i.type.ndim}
    scalars = {d: tensor_of(i) for d, i in by_dim.items() if not _is_slice(i) and not i.type.ndim}
    within = dict.fromkeys(name for i in arrays.values() for name in i.type.dims)
    # A slice of a dimension that an array has goes together with the array.
    for d, i in by_dim.items():
        if _is_slice(i) and d in within:
            positions = plain.arange(tensor_of(x).shape[own.index(d)])
            whole = isinstance(i, slice) and i == _ALL
            arrays[d] = xtensor_from_tensor(positions if whole else positions[i], (d,))
    _check_lengths(arrays)
    output: dict[str, None] = {}
    for d, i in by_dim.items():
        names = i.type.dims if d in arrays and not _is_slice(i) else (d,) if _is_slice(i) else ()
        output.update(dict.fromkeys(names))
    sliced = [d for d in own if d not in arrays and d not in scalars]
    if len(arrays) == 1 and next(iter(arrays.values())).type.ndim == 1:
        # One vector takes the place of the dimension that it indexes: nothing has to be put in another order.
        ((at, vector),) = arrays.items()
        kept = tuple(d for d in own if d not in scalars)
        order = (*scalars, *kept)
        indices = (*scalars.values(), *(tensor_of(vector) if d == at else by_dim[d] for d in kept))
        result = tuple(vector.type.dims[0] if d == at else d for d in kept)
        if not scalars:
            return _Plan(order, indices, result, tuple(output))
    first = tuple(within)
    wide = [aligned(i, first) for i in arrays.values()]
    order = (*arrays, *scalars, *sliced)
    indices = (*wide, *scalars.values(), *(by_dim[d] for d in sliced))
    return _Plan(order, indices, (*first, *sliced), tuple(output))


def _check_lengths(arrays: dict[str, XTensorVariable]) -> None:
    """Refuse arrays that differ in length along a dimension that they have in common."""
    lengths: dict[str, int] = {}
    for index in arrays.values():
        for d, n in index.type.sizes.items():
            if n is not None and lengths.setdefault(d, n) != n:
                msg = f"index: indices have the lengths {lengths[d]} and {n} along {d!r}. Make them agree."
                raise NamedIndexError(msg)


@static_op
class Index(XOp):
    """A part of a tensor: its inputs are the tensor and an index for each of its first dimensions."""

    def make_node(self, *inputs: Input) -> Apply:
        """Return the node.

        Raises
        ------
        NamedIndexError
            If the indices do not fit.
        NamedTypeError
            If one of them is no index.
        """
        x, *indices = inputs
        x = as_xtensor(x)
        return self.node_of([x, *as_indices(x, indices)])

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the part of the plain tensor."""
        x, *given = inputs
        plan = _plan(x, given)
        part = aligned(x, plan.order)[plan.indices] if plan.indices else tensor_of(x)
        order = [plan.result.index(d) for d in plan.output]
        return [Lowered(part if order == list(range(len(order))) else part.dimshuffle(order), plan.output)]

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Index the same dimensions."""
        x, *indices = inputs
        by_dim = dict(zip(dims_of(node.inputs[0]), indices, strict=False))
        return self.make_node(x, *(by_dim.get(d, _ALL) for d in x.type.dims))


@static_op
class IndexUpdate(XOp):
    """A tensor with a part set to, or increased by, another one: its inputs are the two and the indices of the part.

    Parameters
    ----------
    mode
        ``set`` or ``inc``.
    """

    mode: Literal["set", "inc"]

    def __init__(self, mode: Literal["set", "inc"]) -> None:
        if mode not in {"set", "inc"}:
            msg = f"IndexUpdate: mode must be 'set' or 'inc', got {text_of(mode)}."
            raise DimsError(msg)
        object.__setattr__(self, "mode", mode)

    def make_node(self, *inputs: Input) -> Apply:
        """Return the node of a tensor, a value and indices (errors as for `Index`)."""
        x, y, *indices = inputs
        x = as_xtensor(x)
        indices = as_indices(x, indices)
        try:
            y = as_xtensor(y)
        except NamedTypeError:
            y = as_xtensor(plain.as_tensor(y), dims=_plan(x, indices).output)
        node = self.node_of([x, y, *indices])
        # What a mask says of lengths is forgotten once its positions are known.
        return Apply(self, node.inputs, [node.outputs[0].type.clone(shape=x.type.shape).make_variable()])

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the plain tensor with the part changed."""
        x, y, *given = inputs
        plan = _plan(x, given)
        superfluous = [d for d in y.type.dims if d not in plan.result]
        if superfluous:
            msg = (
                f"index: the part has the dimensions {plan.output}, the value {tuple(superfluous)} as well. "
                "Reduce these, or expand the tensor."
            )
            raise DimsError(msg)
        change = plain.set_subtensor if self.mode == "set" else plain.inc_subtensor
        changed = change(aligned(x, plan.order)[plan.indices or (Ellipsis,)], aligned(y, plan.result))
        own = x.type.dims
        order = [plan.order.index(d) for d in own]
        return [Lowered(changed if order == list(range(len(order))) else changed.dimshuffle(order), own)]

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Change the part in each element of the batch."""
        old = {d for v in node.inputs if isinstance(v.type, XTensorType) for d in v.type.dims}
        named = [v for v in inputs if isinstance(v.type, XTensorType)]
        x, *_ = broadcast(*named, exclude=tuple(sorted(old)))
        _, y, *indices = inputs
        own = dims_of(node.inputs[0])
        return self.make_node(transpose(x, *own, ...), y, *indices)


index = Index()
index_assignment = IndexUpdate("set")
index_increment = IndexUpdate("inc")

__all__ = ["Index", "IndexUpdate", "index", "index_assignment", "index_increment"]
