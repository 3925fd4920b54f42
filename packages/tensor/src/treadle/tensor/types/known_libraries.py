"""Series, tables and arrays of pandas, polars, pyarrow, PyTorch and xarray as arrays of NumPy.

None of these libraries is imported: a value brings its own. Memory is shared where the library hands its own out.
Missing values become NaN among floats; among integers and truth values, which have none, they are refused, as are text,
times and other values that are no numbers.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.tensor.errors import MissingValueError, TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NUMBERS = "biufc"
_TEXT = "Encode it as numbers, for instance by {codes}."
_CURES = {
    "M": "Subtract an origin and divide by a unit of time.",
    "m": "Divide it by a unit of time.",
    "O": "Convert it with {numeric}, or leave it out.",
}


def _missing(what: str, kind: str, fill: str, floats: str) -> MissingValueError:
    return MissingValueError(
        f"{what} of dtype {kind} has missing values, which only floats can hold, as NaN. Fill them by {fill}, leave "
        f"them out, or convert it by {floats} first."
    )


def _no_numbers(what: str, kind: object, cure: str) -> TensorTypeError:
    return TensorTypeError(f"{what} of dtype {kind} holds no numbers. {cure}")


def _in_one(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Return columns, of one or several dtypes, side by side."""
    if not columns:
        return np.empty((rows, 0))
    table: np.ndarray = np.empty((rows, len(columns)), np.result_type(*(c.dtype for c in columns)), order="F")
    for i, column in enumerate(columns):
        table[:, i] = column
    return table


def _column(what: str, name: object) -> str:
    return f"{what}: column {name!r}"


# ---------------------------------------------------------------- pandas


def _pandas_series(what: str, series: Any) -> np.ndarray:
    """Return the values of a Series, an Index or an array of pandas."""
    return _pandas_column(f"{what}: {_pandas_title(series)}", series)


def _pandas_title(series: Any) -> str:
    name = getattr(series, "name", None)
    title = "the " + type(series).__name__
    return title if name is None else f"{title} {name!r}"


def _pandas_column(what: str, series: Any) -> np.ndarray:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind not in _NUMBERS:
            raise _no_numbers(what, dtype, _pandas_cure(dtype.kind))
        return np.asarray(series)
    if hasattr(dtype, "categories"):
        return _pandas_categories(what, series)
    if hasattr(dtype, "subtype") and hasattr(dtype, "fill_value"):  # sparse
        return np.asarray(series.to_numpy())
    numpy_dtype: Any = getattr(dtype, "numpy_dtype", None)
    if getattr(numpy_dtype, "kind", None) not in set(_NUMBERS):
        raise _no_numbers(what, dtype, _pandas_cure(getattr(dtype, "kind", "O"), str(dtype)))
    if not series.isna().any():
        return np.asarray(series.to_numpy(dtype=numpy_dtype))
    if numpy_dtype.kind not in "fc":
        raise _missing(what, str(dtype), "fillna(0)", "astype('float64')")
    return np.asarray(series.to_numpy(dtype=numpy_dtype, na_value=np.nan))


def _pandas_cure(kind: str, dtype: str = "") -> str:
    if kind in "OUS" and dtype not in {"", "object"}:
        return _TEXT.format(codes="astype('category').cat.codes, pandas.factorize or get_dummies")
    return _CURES.get(kind, _CURES["O"]).format(numeric="pandas.to_numeric or astype(float)")


def _pandas_categories(what: str, series: Any) -> np.ndarray:
    values = getattr(series, "array", series)
    codes = np.asarray(values.codes)
    categories = values.categories
    if getattr(categories.dtype, "kind", "O") not in _NUMBERS:
        cure = _TEXT.format(codes=".cat.codes or pandas.get_dummies")
        raise _no_numbers(what, f"category of {categories.dtype}", cure)
    numbers: np.ndarray = _pandas_column(what, categories)
    if (codes < 0).any():
        if numbers.dtype.kind not in "fc":
            raise _missing(what, f"category of {categories.dtype}", "fillna", "astype('float64')")
        return np.where(codes < 0, np.nan, numbers[codes])
    return np.asarray(numbers[codes])


def _pandas_frame(what: str, frame: Any) -> np.ndarray:
    dtypes = list(frame.dtypes)
    plain = all(isinstance(d, np.dtype) and d.kind in _NUMBERS for d in dtypes)
    if plain and dtypes:
        return np.asarray(frame.to_numpy(dtype=np.result_type(*dtypes)))
    columns = [_pandas_column(_column(what, frame.columns[i]), frame.iloc[:, i]) for i in range(len(dtypes))]
    return _in_one(columns, len(frame))


# ---------------------------------------------------------------- polars


def _polars_series(what: str, series: Any) -> np.ndarray:
    title = f"the Series {series.name!r}" if series.name else "the Series"
    return _polars_column(f"{what}: {title}", series)


def _polars_column(what: str, series: Any) -> np.ndarray:
    dtype = series.dtype
    leaf = dtype
    while getattr(leaf, "inner", None) is not None:
        leaf = leaf.inner
    name = str(leaf)
    if not leaf.is_numeric() and name != "Boolean":
        cure = _CURES["M"] if leaf.is_temporal() else _TEXT.format(codes="rank('dense'), to_physical() or to_dummies()")
        raise _no_numbers(what, dtype, cure)
    if not leaf.is_float() and _polars_nulls(series):
        raise _missing(what, str(dtype), "fill_null(0)", "cast(pl.Float64)")
    if name.startswith("Decimal"):
        series = series.cast(_polars("Float64"))
    array = np.asarray(series.to_numpy())
    if array.dtype.kind not in _NUMBERS:
        msg = f"{what} of dtype {dtype} has rows of several lengths. Make it a Series of arrays of one length."
        raise TensorTypeError(msg)
    return array


def _polars(name: str) -> Any:
    return getattr(sys.modules["polars"], name)


def _polars_nulls(series: Any) -> bool:
    while getattr(series.dtype, "inner", None) is not None:
        if series.null_count():
            return True
        series = series.explode()
    return bool(series.null_count())


def _polars_frame(what: str, frame: Any) -> np.ndarray:
    columns = frame.get_columns()
    if len({c.dtype for c in columns}) == 1 and columns[0].dtype.is_float():
        return np.asarray(frame.to_numpy())
    return _in_one([_polars_column(_column(what, c.name), c) for c in columns], frame.height)


def _polars_lazy(what: str, frame: Any) -> np.ndarray:
    cure = "Collect it: frame.collect()." if hasattr(frame, "collect") else "Select it from a table: frame.select(...)."
    msg = f"{what}: {type(frame).__name__} of polars has no values yet. {cure}"
    raise TensorTypeError(msg)


# ---------------------------------------------------------------- pyarrow


def _arrow_array(what: str, array: Any) -> np.ndarray:
    return _arrow_column(f"{what}: the {type(array).__name__}", array)


def _arrow_column(what: str, array: Any) -> np.ndarray:
    kind = array.type
    pyarrow = sys.modules["pyarrow"]
    types = pyarrow.types
    if types.is_dictionary(kind):
        array = _arrow_decoded(array)
        kind = array.type
    extension = getattr(kind, "storage_type", None)
    if extension is not None and types.is_fixed_size_list(extension):
        shape = tuple(kind.shape) if hasattr(kind, "shape") else (extension.list_size,)
        array = _arrow_storage(array)
        return _arrow_rows(what, array, shape)
    if types.is_fixed_size_list(kind):
        return _arrow_rows(what, array, (kind.list_size,))
    if types.is_decimal(kind):
        array = array.cast(pyarrow.float64())
        kind = array.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        temporal = types.is_temporal(kind)
        raise _no_numbers(what, kind, _CURES["M"] if temporal else _TEXT.format(codes="dictionary_encode().indices"))
    if array.null_count and not types.is_floating(kind):
        raise _missing(what, str(kind), "fill_null(0)", "cast(pyarrow.float64())")
    chunks = getattr(array, "chunks", None)
    if chunks is not None:
        if len(chunks) == 1:
            return _arrow_column(what, chunks[0])
        return np.asarray(array.to_numpy())
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _arrow_decoded(array: Any) -> Any:
    if hasattr(array, "chunks"):
        return sys.modules["pyarrow"].chunked_array(
            [chunk.dictionary_decode() for chunk in array.chunks], array.type.value_type
        )
    return array.dictionary_decode()


def _arrow_storage(array: Any) -> Any:
    if hasattr(array, "chunks"):
        return sys.modules["pyarrow"].chunked_array([c.storage for c in array.chunks], array.type.storage_type)
    return array.storage


def _arrow_rows(what: str, array: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the rows of an array of lists of one length, each of a shape."""
    if array.null_count:
        msg = f"{what} of type {array.type} has missing rows. Fill them, or leave them out."
        raise MissingValueError(msg)
    return _arrow_column(what, array.flatten()).reshape(len(array), *shape)


def _arrow_table(what: str, table: Any) -> np.ndarray:
    columns = [_arrow_column(_column(what, n), table.column(i)) for i, n in enumerate(table.schema.names)]
    return _in_one(columns, table.num_rows)


def _arrow_tensor(what: str, tensor: Any) -> np.ndarray:  # noqa: ARG001 - the signature of all
    return np.asarray(tensor.to_numpy())


def _arrow_scalar(what: str, scalar: Any) -> np.ndarray:
    number = scalar.as_py()
    if number is None and sys.modules["pyarrow"].types.is_floating(scalar.type):
        number = math.nan
    if not isinstance(number, bool | int | float):
        msg = f"{what}: a number is needed, got {text_of(scalar)}. Pass one."
        raise TensorTypeError(msg)
    return np.asarray(number)


# ---------------------------------------------------------------- PyTorch, xarray


def _torch_tensor(what: str, tensor: Any) -> np.ndarray:
    cure = None
    if tensor.requires_grad:
        cure = "requires gradients, which treadle does not take part in. Pass tensor.detach()"
    elif tensor.is_meta:
        cure = "is on the device meta, and has no values. Pass one that has"
    elif tensor.device.type != "cpu":
        cure = f"is on the device {tensor.device}. Pass tensor.cpu()"
    elif str(tensor.layout) != "torch.strided":
        cure = f"has the layout {tensor.layout}. Pass tensor.to_dense()"
    elif tensor.is_quantized:
        cure = "is quantized. Pass tensor.dequantize()"
    if cure is not None:
        msg = f"{what}: the tensor {cure}."
        raise TensorTypeError(msg)
    name = str(tensor.dtype)
    if name.startswith(("torch.bfloat16", "torch.float8")):
        # Dtypes that NumPy does not have, whose numbers float32 has.
        tensor = tensor.float()
    elif name == "torch.complex32":
        tensor = tensor.cfloat()
    return np.asarray(tensor.resolve_conj().resolve_neg().numpy())


def _data_array(what: str, array: Any) -> np.ndarray:  # noqa: ARG001 - the signature of all
    return np.asarray(array.to_numpy())


def _dataset(what: str, dataset: Any) -> np.ndarray:
    names = ", ".join(map(repr, dataset.data_vars))
    msg = f"{what}: a Dataset of xarray holds several arrays, {names}. Pick one, as in dataset[name]."
    raise TensorTypeError(msg)


TO_ARRAY: dict[str, Callable[[str, Any], np.ndarray]] = {
    "pandas.Series": _pandas_series,
    "pandas.Index": _pandas_series,
    "pandas.ExtensionArray": _pandas_series,
    "pandas.DataFrame": _pandas_frame,
    "polars.Series": _polars_series,
    "polars.DataFrame": _polars_frame,
    "polars.LazyFrame": _polars_lazy,
    "polars.Expr": _polars_lazy,
    "pyarrow.Array": _arrow_array,
    "pyarrow.ChunkedArray": _arrow_array,
    "pyarrow.RecordBatch": _arrow_table,
    "pyarrow.Table": _arrow_table,
    "pyarrow.Tensor": _arrow_tensor,
    "pyarrow.Scalar": _arrow_scalar,
    "torch.Tensor": _torch_tensor,
    "xarray.DataArray": _data_array,
    "xarray.Variable": _data_array,
    "xarray.Dataset": _dataset,
}
