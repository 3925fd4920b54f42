"""Results as labelled arrays of xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.named.errors import DimsError
from treadle.named.types.named_type import Input, XTensorType, as_dims

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def to_data_array(
    value: object, dims: Input, coords: Mapping[str, object] | Input = None, name: str | None = None
) -> Input:
    """Return an array, such as a function returns it, as a DataArray of xarray, which must be installed.

    Parameters
    ----------
    value
        The array.
    dims
        Names of its dimensions, or the named tensor that it is a value of.
    coords
        Labels by dimension, as a mapping, such as the ``coords`` of another DataArray; those of dimensions that the
        value does not have are left out.
    name
        Its name; that of the tensor by default.

    Raises
    ------
    DimsError
        If there are more or fewer names than dimensions.

    Examples
    --------
    >>> from treadle.named import as_xtensor, to_data_array  # doctest: +SKIP
    >>> x = as_xtensor([[1, 2], [3, 4]], dims=("a", "b"))
    >>> to_data_array(x.eval(), x, coords={"a": ["u", "v"]}).sel(a="v").values.tolist()
    [3, 4]
    """
    import xarray  # noqa: PLC0415 - only this function needs it

    kind = getattr(dims, "type", None)
    names: Sequence[str] = kind.dims if isinstance(kind, XTensorType) else as_dims("to_data_array", dims)
    if isinstance(kind, XTensorType) and name is None:
        name = dims.name
    array = np.asarray(value)
    if array.ndim != len(names):
        msg = f"to_data_array: a name is needed for each of {array.ndim} dimensions, got {tuple(names)}. Give as many."
        raise DimsError(msg)
    labels = {d: labels for d, labels in dict(coords or {}).items() if d in names}
    return xarray.DataArray(array, dims=tuple(names), coords=labels, name=name)


__all__ = ["to_data_array"]
