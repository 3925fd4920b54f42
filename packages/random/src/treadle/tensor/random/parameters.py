"""Parameters of random variables: their batches, and the lengths of single draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from treadle.config import text_of
from treadle.graph import Variable
from treadle.tensor.arguments.values import as_integer, as_items
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.joins.common_shapes import broadcast_shape
from treadle.tensor.random.size import batch_lengths, normalize_size_param
from treadle.tensor.shapes.broadcasting import broadcast_to
from treadle.tensor.shapes.dimshuffle import shape_padleft
from treadle.tensor.staging.constant_values import shape_tuple
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.none_and_slices import NoneConst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Lengths = Sequence[int | TensorVariable]

__all__ = [
    "broadcast_params", "compute_batch_shape", "explicit_expand_dims", "params_broadcast_shapes",
    "supp_shape_from_ref_param_shape",
]  # fmt: skip


T = TypeVar("T")


def _paired(what: str, items: Sequence[T], ranks: Sequence[int]) -> list[tuple[T, int]]:
    """Return things, each with the rank that is given for it."""
    known = [as_integer(what, rank, 0) for rank in as_items(what, ranks)]
    if len(known) != len(items):
        msg = f"{what} must hold one rank for each of {len(items)} parameters, got {text_of(ranks)}. Pass as many."
        raise ArgumentError(msg)
    return list(zip(items, known, strict=True))


def params_broadcast_shapes(
    param_shapes: Sequence[Lengths], ndims_params: Sequence[int], use_pytensor: bool = True
) -> list[tuple[int | TensorVariable, ...]]:
    """Return the shapes of parameters whose batches are broadcast against one another.

    Parameters
    ----------
    param_shapes
        Their shapes.
    ndims_params
        Their ranks for a single draw: that many lengths at the end of each shape stay as they are.
    use_pytensor
        Whether lengths may be symbolic; otherwise all are integers.

    Examples
    --------
    >>> tt.random.params_broadcast_shapes([(2, 1), (3,)], [0, 0])
    [(2, 3), (2, 3)]
    """
    what = "params_broadcast_shapes: param_shapes"
    listed = [tuple(as_items(what, s)) for s in as_items(what, param_shapes)]
    shapes = [(s, len(s) - rank) for s, rank in _paired("params_broadcast_shapes: ndims_params", listed, ndims_params)]
    batches = [s[:at] for s, at in shapes]
    batch: Lengths = (
        broadcast_shape(*batches, arrays_are_shapes=True) if use_pytensor else np.broadcast_shapes(*batches)
    )
    return [(*batch, *s[at:]) for s, at in shapes]


def broadcast_params(
    params: Sequence[np.ndarray | TensorVariable], ndims_params: Sequence[int]
) -> list[np.ndarray | TensorVariable]:
    """Return parameters, arrays or variables, whose batches are broadcast against one another.

    >>> mean, cov = broadcast_params([np.zeros(3), np.stack([np.eye(3)] * 2)], [1, 2])
    >>> mean.shape, cov.shape
    ((2, 3), (2, 3, 3))
    """
    params = as_items("broadcast_params: params", params)
    if not any(isinstance(p, Variable) for p in params):
        arrays = [p if isinstance(p, np.ndarray) else constant(p).data for p in params]
        shapes = params_broadcast_shapes([p.shape for p in arrays], ndims_params, use_pytensor=False)
        return [np.broadcast_to(p, s) for p, s in zip(arrays, shapes, strict=True)]  # type: ignore[arg-type]  # integers
    variables = [as_tensor_variable(p) for p in params]
    shapes = params_broadcast_shapes([shape_tuple(p) for p in variables], ndims_params)
    return [broadcast_to(p, s) for p, s in zip(variables, shapes, strict=True)]


def explicit_expand_dims(
    params: Sequence[TensorLike], ndim_params: Sequence[int], size_length: int | None = None
) -> list[TensorVariable]:
    """Return parameters with dimensions of length 1 in front, so that all have as many batch dimensions.

    Parameters
    ----------
    params
        The parameters.
    ndim_params
        Their ranks for a single draw.
    size_length
        How many batch dimensions they are to have; as many as the parameter with most of them if None.

    Examples
    --------
    >>> [x.ndim for x in tt.random.explicit_expand_dims([np.ones((2, 1)), np.ones(3)], [0, 0])]
    [2, 2]
    """
    listed = as_items("explicit_expand_dims: params", params)
    ranked = _paired("explicit_expand_dims: ndim_params", listed, ndim_params)
    pairs = [(as_tensor_variable(p), rank) for p, rank in ranked]
    own = [p.ndim - rank for p, rank in pairs]
    wanted = max(own, default=0) if size_length is None else size_length
    return [p if ndim == wanted else shape_padleft(p, wanted - ndim) for (p, _), ndim in zip(pairs, own, strict=True)]


def compute_batch_shape(params: Sequence[TensorLike], ndims_params: Sequence[int]) -> TensorVariable:
    """Return the shape that the batches of parameters broadcast to, a vector of int64.

    Examples
    --------
    >>> tt.random.compute_batch_shape([np.ones((2, 1)), np.ones(3)], [0, 0]).eval()
    array([2, 3])
    """
    listed = as_items("compute_batch_shape: params", params)
    ranked = _paired("compute_batch_shape: ndims_params", listed, ndims_params)
    pairs = [(as_tensor_variable(p), rank) for p, rank in ranked]
    return normalize_size_param(batch_lengths(NoneConst, pairs))  # type: ignore[no-any-return]  # a vector


def supp_shape_from_ref_param_shape(
    *,
    ndim_supp: int,
    dist_params: Sequence[TensorLike],
    param_shapes: Sequence[Lengths] | None = None,
    ref_param_idx: int,
) -> tuple[int | TensorVariable, ...]:
    """Return the lengths of a single draw that are those of the last dimensions of a parameter.

    Parameters
    ----------
    ndim_supp
        Rank of a single draw, 1 or more.
    dist_params
        The parameters.
    param_shapes
        Their shapes, where these are known otherwise.
    ref_param_idx
        Position of the parameter.

    Raises
    ------
    ShapeError
        If the rank is not 1 or more, or the parameter has fewer dimensions.
    """
    what = "supp_shape_from_ref_param_shape"
    listed: list[Any] = as_items(f"{what}: dist_params", dist_params)
    if param_shapes is not None:
        listed = as_items(f"{what}: param_shapes", param_shapes)
    at = as_integer(f"{what}: ref_param_idx", ref_param_idx)
    if not -len(listed) <= at < len(listed):
        msg = f"{what}: ref_param_idx must be the position of a parameter, got {at} of {len(listed)}. Pass another."
        raise ArgumentError(msg)
    shape = listed[at]
    lengths = shape_tuple(as_tensor_variable(shape)) if param_shapes is None else tuple(as_items(what, shape))
    if not 0 < as_integer(f"{what}: ndim_supp", ndim_supp) <= len(lengths):
        msg = (
            f"supp_shape_from_ref_param_shape: a draw of rank 1 to {len(lengths)}, the parameter's, is needed, got "
            f"{ndim_supp}."
        )
        raise ShapeError(msg)
    return lengths[-ndim_supp:]
