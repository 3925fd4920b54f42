"""Results of compiled functions with the labels of their arguments: indices, columns, dimensions and coordinates."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treadle.config import dataclass, text_of
from treadle.tensor.errors import ArgumentError
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from treadle.graph import Variable

# By package and class, how many axes have labels.
_LABELLED = {
    ("pandas", "Series"): 1,
    ("pandas", "DataFrame"): 2,
    ("polars", "Series"): 1,
    ("polars", "DataFrame"): 2,
    ("xarray", "DataArray"): None,
}


class _Source(NamedTuple):
    """An axis of an argument that has labels."""

    library: str
    data: Any
    axis: int


def _kind(data: object) -> tuple[str, str] | None:
    for base in type(data).__mro__:
        kind = (base.__module__.partition(".")[0], base.__name__)
        if kind in _LABELLED:
            return kind
    return None


@dataclass(frozen=True)
class LabelledFunction:
    """A compiled function whose results have the labels of its arguments. Made by `labelled`.

    Everything else is the function's own: ``f.function``, and its attributes.
    """

    function: Any

    def __call__(self, *args: object, **kwargs: Any) -> Any:
        """Call the function, and put labels on its results."""
        results = self.function(*args, **kwargs)
        subset = kwargs.pop("output_subset", None)
        slots = self.function.signature.match(args, kwargs)
        arguments = {i: data for i, data in enumerate(slots) if _kind(data) is not None}
        if not arguments:
            return results
        return self._put(results, iter(self._places(subset)), arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "function":
            raise AttributeError(name)
        return getattr(self.function, name)

    def _places(self, subset: Sequence[str | int] | None) -> Sequence[int]:
        specification = self.function.maker.specification
        if subset is None:
            return range(len(specification.outputs))
        keys = list(specification.keys or ())
        return [keys.index(item) if item in keys else int(item) for item in subset]

    @cached_property
    def _axes(self) -> list[list[list[tuple[int, int]]]]:
        """For each output and axis the axes of inputs, as positions, whose lengths decide its length."""
        specification = self.function.maker.specification
        shapes = SymbolicShapes()
        lengths = [
            (i, axis, length)
            for i, item in enumerate(specification.inputs)
            if isinstance(item.variable.type, TensorType)
            for axis, length in enumerate(shapes.of(item.variable))
            if length
        ]

        def sources(output: Variable) -> list[list[tuple[int, int]]]:
            if not isinstance(output.type, TensorType):
                return []
            return [[(i, axis) for i, axis, length in lengths if length <= own] for own in shapes.of(output)]

        return [sources(out.variable) for out in specification.outputs]

    def _put(self, result: object, places: Iterator[int], arguments: Mapping[int, Any]) -> object:
        if isinstance(result, dict):
            return {key: self._put(item, places, arguments) for key, item in result.items()}
        if isinstance(result, list):
            return [self._put(item, places, arguments) for item in result]
        if isinstance(result, tuple):
            items: list[Any] = [self._put(item, places, arguments) for item in result]
            return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
        place = next(places)
        if not isinstance(result, np.ndarray) or not result.ndim:
            return result
        sources = [
            self._source(axes, length, arguments) for axes, length in zip(self._axes[place], result.shape, strict=True)
        ]
        return _with_labels(result, sources, self.function.maker.specification.outputs[place].variable.name)

    @staticmethod
    def _source(axes: Sequence[tuple[int, int]], length: int, arguments: Mapping[int, Any]) -> _Source | None:
        """Return the first argument's axis that has labels for an axis of a result."""
        for i, axis in axes:
            data = arguments.get(i)
            if data is not None and data.shape[axis] == length:
                return _Source(_kind(data)[0], data, axis)  # type: ignore[index]  # it has a kind
        return None


def _with_labels(result: np.ndarray, sources: Sequence[_Source | None], name: str | None) -> object:
    """Return a result as labelled data of the library of its first labelled axis; as it is where there is none."""
    library = next((s.library for s in sources if s is not None), None)
    if library is None:
        return result
    own = [s if s is not None and s.library == library else None for s in sources]
    return _WRAPPERS[library](result, own, name)


def _in_pandas(result: np.ndarray, sources: Sequence[_Source | None], name: str | None) -> object:
    pandas = sys.modules["pandas"]
    labels = [None if s is None else (s.data.index, getattr(s.data, "columns", None))[s.axis] for s in sources]
    if result.ndim == 1:
        source = sources[0]
        own_name = getattr(source.data, "name", None) if source is not None and source.data.ndim == 1 else None
        return pandas.Series(result, index=labels[0], name=own_name if name is None else name)
    if result.ndim == 2:
        return pandas.DataFrame(result, index=labels[0], columns=labels[1])
    return result


def _in_polars(result: np.ndarray, sources: Sequence[_Source | None], name: str | None) -> object:
    polars = sys.modules["polars"]
    rows = sources[0]
    if rows is None or rows.axis != 0:
        return result
    if result.ndim == 1:
        own_name = rows.data.name if rows.data.__class__.__name__ == "Series" else ""
        return polars.Series(own_name if name is None else name, result)
    if result.ndim == 2:
        columns = sources[1]
        schema = columns.data.columns if columns is not None and columns.axis == 1 else None
        return polars.DataFrame(result, schema=schema, orient="row")
    return result


def _in_xarray(result: np.ndarray, sources: Sequence[_Source | None], name: str | None) -> object:
    xarray = sys.modules["xarray"]
    dims = [f"dim_{axis}" if s is None else s.data.dims[s.axis] for axis, s in enumerate(sources)]
    if len(set(dims)) < len(dims):
        return result
    coords: dict[str, object] = {}
    for source in filter(None, sources):
        kept = {key: c for key, c in source.data.coords.items() if set(c.dims) <= set(dims) and c.dims}
        coords = {**kept, **coords}
    names = {s.data.name for s in sources if s is not None}
    own_name = names.pop() if len(names) == 1 else None
    return xarray.DataArray(result, dims=dims, coords=coords, name=own_name if name is None else name)


_WRAPPERS = {"pandas": _in_pandas, "polars": _in_polars, "xarray": _in_xarray}


def labelled(function: Any) -> LabelledFunction:
    """Return a compiled function that gives results as labelled data where its arguments are such.

    Arguments with labels are the Series and DataFrames of pandas and polars and the DataArrays of xarray. An axis of a
    result gets the labels of an axis of an argument if the graph says that the length of the one is that of the other,
    alone or broadcast with others, whatever the values, and if both have that length in the call. Where several
    arguments would do, the first in the order of the inputs counts, and of its axes the first: labels are not compared
    or aligned. So elementwise results keep index, columns and coordinates, sums along an axis those of the other, and
    ``X.T @ y`` is labelled by the columns of ``X``.

    The library of the first labelled axis decides what the result is:

    - pandas: vectors are Series, matrices DataFrames, in which an axis without labels is counted; tensors of a higher
      rank stay arrays.
    - polars: vectors as long as a Series or table are Series, matrices with as many rows DataFrames.
    - xarray: tensors are DataArrays with the dimensions of the arguments and the coordinates along these; an axis
      without labels has the name ``dim_0``, ``dim_1``, ... A result that would have a dimension twice stays an array.

    A result without any labelled axis, such as a number, is an array as always. The name of a Series or DataArray is
    that of the output's variable, or else that of the argument.

    Parameters
    ----------
    function
        What `treadle.compile.function` returns.

    Returns
    -------
    A function called like it. The compiled one is its attribute `function`.

    Raises
    ------
    ArgumentError
        If it is no compiled function.

    Examples
    --------
    >>> import pandas as pd  # doctest: +SKIP
    >>> import treadle.tensor as tt
    >>> from treadle.compile import function
    >>> X, b = tt.matrix("X"), tt.vector("b")
    >>> predict = tt.labelled(function([X, b], X @ b, mode="VM"))
    >>> predict(pd.DataFrame({"age": [20.0, 30.0]}, index=["Ann", "Bo"]), [2.0])  # doctest: +SKIP
    Ann    40.0
    Bo     60.0
    dtype: float64
    """
    if not callable(function) or not hasattr(function, "maker") or not hasattr(function, "signature"):
        msg = (
            f"labelled: a compiled function is needed, got {text_of(function)}. Pass what treadle.compile.function "
            "returns."
        )
        raise ArgumentError(msg)
    return LabelledFunction(function)


__all__ = ["labelled"]
