"""Results of compiled functions as Series, DataFrames and DataArrays with the labels of the arguments."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import treadle.tensor
from treadle.compile import function
from treadle.tensor import ArgumentError

tt: Any = treadle.tensor
X, B, Y = tt.dmatrix("X"), tt.dvector("b"), tt.dvector("y")
FRAME = pd.DataFrame({"age": [20.0, 30.0, 1.0], "weight": [1.0, 2.0, 3.0]}, index=["Ann", "Bo", "Cy"])
TABLE = pl.DataFrame({"age": [20.0, 30.0, 1.0], "weight": [1.0, 2.0, 3.0]})
GRID = xr.DataArray(
    np.arange(6.0).reshape(3, 2),
    dims=("t", "v"),
    coords={"t": [10, 20, 30], "v": ["a", "b"], "day": ("t", [1, 2, 3])},
    name="heat",
)
OUTPUTS = [X @ B, X * 2 + B, Y - X @ B, X.T @ Y, X.sum(axis=0), X.sum(), B * 2, X.T @ X, X[:2], tt.outer(Y, B), X[None]]
LABELLED = tt.labelled(function([X, B, Y], OUTPUTS, mode="VM"))
ROWS, COLUMNS = ["Ann", "Bo", "Cy"], ["age", "weight"]


def labels(result: Any) -> Any:
    if isinstance(result, pd.Series):
        return list(result.index)
    return (list(result.index), list(result.columns)) if isinstance(result, pd.DataFrame) else None


def test_rows_and_columns_of_a_data_frame_are_kept_where_axes_come_from_them() -> None:
    results = LABELLED(FRAME, [1.0, 2.0], [1.0, 2.0, 3.0])
    plain = LABELLED.function(FRAME, [1.0, 2.0], [1.0, 2.0, 3.0])
    both, square, part = (ROWS, COLUMNS), (COLUMNS, COLUMNS), ([0, 1], COLUMNS)
    # No graph says that y is as long as X, or b as its rows.
    assert [labels(r) for r in results] == [ROWS, both, ROWS, COLUMNS, COLUMNS, None, None, square, part, None, None]
    for result, array in zip(results, plain, strict=True):
        np.testing.assert_array_equal(result, array)


def test_a_series_gives_its_index_and_name() -> None:
    series = pd.Series([1.0, 2.0, 3.0], index=ROWS, name="y")
    f = tt.labelled(function([Y], [Y * 2, (Y + 1).cumsum(), Y[::2], Y.mean()], mode="VM"))
    doubled, summed, part, mean = f(series)
    assert (list(doubled.index), doubled.name) == (ROWS, "y")
    assert (list(summed.index), summed.name) == (ROWS, "y")
    assert isinstance(part, np.ndarray)
    assert isinstance(mean, np.ndarray)
    named = Y * 2
    named.name = "twice"
    assert tt.labelled(function([Y], named, mode="VM"))(series).name == "twice"


def test_a_table_of_polars_gives_series_and_tables() -> None:
    results = LABELLED(TABLE, [1.0, 2.0], [1.0, 2.0, 3.0])
    assert isinstance(results[0], pl.Series)
    assert isinstance(results[1], pl.DataFrame)
    assert results[1].columns == COLUMNS
    assert isinstance(results[4], np.ndarray)


def test_an_array_of_xarray_gives_dimensions_and_coordinates() -> None:
    results = LABELLED(GRID, [1.0, 2.0], [1.0, 2.0, 3.0])
    assert results[0].dims == ("t",)
    assert set(results[0].coords) == {"t", "day"}
    assert results[1].dims == ("t", "v")
    assert results[1].name == "heat"
    assert results[4].coords["v"].values.tolist() == ["a", "b"]
    assert results[8].dims == ("dim_0", "v")
    assert isinstance(results[7], np.ndarray)


def test_labels_are_those_of_the_first_argument_and_not_compared() -> None:
    first, second = pd.Series([1.0, 2.0], index=["a", "b"]), pd.Series([1.0, 2.0], index=["b", "a"])
    z = tt.dvector("z")
    total = tt.labelled(function([Y, z], Y + z, mode="VM"))(first, second)
    assert total.to_dict() == {"a": 2.0, "b": 4.0}
    # A length of 1 is broadcast: the other argument's labels count.
    row, column = tt.TensorType("float64", (1,))("row"), Y
    result = tt.labelled(function([row, column], row + column, mode="VM"))(pd.Series([1.0], index=["one"]), first)
    assert list(result.index) == ["a", "b"]


def test_outputs_keep_their_form() -> None:
    f = tt.labelled(function([X], {"double": X * 2, "total": X.sum()}, mode="VM", name="f"))
    assert list(f(X=FRAME)["double"].columns) == COLUMNS
    assert list(f(FRAME, output_subset=["double"])["double"].index) == ROWS
    assert isinstance(f(FRAME)["total"], np.ndarray)
    assert isinstance(f(FRAME.to_numpy())["double"], np.ndarray)
    assert f.name == "f"
    for other in (copy.copy(f), pickle.loads(pickle.dumps(f))):
        assert list(other(FRAME)["double"].index) == ROWS


def test_what_is_no_compiled_function_is_refused() -> None:
    with pytest.raises(ArgumentError, match="labelled: a compiled function is needed, got"):
        tt.labelled(lambda x: x)
