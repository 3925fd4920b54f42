"""Vectors of scalars as the one op that PyTensor makes of them; in treadle they are joins of vectors of one element."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING

import numpy as np

from treadle import tensor
from treadle.graph import Constant, Variable
from treadle.surface.values.vectors import make_vector
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor import TensorLike, TensorVariable


def _is_scalar(x: object) -> bool:
    if isinstance(x, Variable):
        return isinstance(x.type, TensorType) and x.type.ndim == 0
    return isinstance(x, Number) or (isinstance(x, np.ndarray | np.generic) and x.ndim == 0)


def vector_of(items: object) -> TensorVariable | np.ndarray | None:
    """Return scalars and variables as a vector, as an array if all are constants; None if there is no such list."""
    if not isinstance(items, list | tuple) or not all(map(_is_scalar, items)):
        return None
    variables = [x for x in items if isinstance(x, Variable)]
    if not variables:
        return None
    if all(isinstance(x, Constant) for x in variables):
        return np.array([x.data if isinstance(x, Constant) else x for x in items])
    return make_vector(*items)


def stack(tensors: Sequence[TensorLike], axis: int = 0, **kwargs: str) -> TensorVariable:
    """Put tensors one after another along a new axis, as `treadle.tensor.stack` does."""
    several = not kwargs and isinstance(tensors, list | tuple) and len(tensors) > 1 and axis in {0, -1}
    vector = make_vector(*tensors) if several and all(map(_is_scalar, tensors)) else None
    return tensor.stack(tensors, axis, **kwargs) if vector is None else vector


def stacklists(arg: TensorLike | Sequence[object]) -> TensorLike:
    """Return nested lists of tensors as one tensor, each level of lists a dimension."""
    if isinstance(arg, list | tuple):
        return stack([stacklists(x) for x in arg])
    return arg  # type: ignore[return-value]  # no list
