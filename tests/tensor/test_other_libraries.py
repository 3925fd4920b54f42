"""Series, tables and arrays of other libraries wherever treadle takes numbers."""

from __future__ import annotations

import operator
import subprocess
import sys
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import treadle.tensor
from treadle.compile import In, Out, function
from treadle.config import TreadleError
from treadle.graph import DuplicateRegistrationError, Variable
from treadle.tensor import MissingValueError, NumpyFunctionError, TensorTypeError
from treadle.tensor.types.other_arrays import OTHER_ARRAYS

torch: Any = pytest.importorskip("torch")

tt: Any = treadle.tensor
register_array: Any = tt.register_array
VALUES = [1.0, 2.5, 4.0]
VECTORS: dict[str, Any] = {
    "pandas Series": pd.Series(VALUES),
    "pandas Series with another index": pd.Series(VALUES, index=["u", "v", "w"]),
    "pandas nullable Series": pd.Series(VALUES, dtype="Float64"),
    "pandas Arrow Series": pd.Series(VALUES, dtype="float64[pyarrow]"),
    "pandas Index": pd.Index(VALUES),
    "pandas Categorical": pd.Categorical(VALUES),
    "pandas category Series": pd.Series(VALUES, dtype="category"),
    "pandas array": pd.array(VALUES),
    "pandas sparse Series": pd.Series(VALUES, dtype="Sparse[float]"),
    "polars Series": pl.Series(VALUES),
    "polars Series in chunks": pl.concat([pl.Series([1.0]), pl.Series([2.5, 4.0])], rechunk=False),
    "Arrow array": pa.array(VALUES),
    "Arrow chunked array": pa.chunked_array([VALUES[:1], VALUES[1:]]),
    "Arrow dictionary": pa.array(VALUES).dictionary_encode(),
    "Arrow tensor": pa.Tensor.from_numpy(np.array(VALUES)),
    "xarray DataArray": xr.DataArray(VALUES, dims="t", coords={"t": [1, 2, 3]}),
    "xarray Variable": xr.Variable("t", VALUES),
    "PyTorch tensor": torch.tensor(VALUES, dtype=torch.float64),
    "JAX array": jnp.asarray(VALUES),
}
TABLES: dict[str, Any] = {
    "pandas DataFrame": pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}),
    "pandas DataFrame of several dtypes": pd.DataFrame(
        {"a": pd.array([1, 2, 3], dtype="Int64"), "b": np.array([4, 5, 6], "float32")}
    ),
    "polars DataFrame": pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}),
    "polars DataFrame of several dtypes": pl.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]}),
    "Arrow table": pa.table({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]}),
    "Arrow record batch": pa.record_batch({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}),
}
DATA = VECTORS | TABLES
# On the left, these ask the tensor for numbers or know only their own classes: their own errors, or ours.
KEEP_THE_LEFT = {name for name in DATA if name.startswith(("polars", "xarray"))}
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt, operator.ge]


def numbers(data: Any) -> np.ndarray:
    return (
        np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]) if any(data is t for t in TABLES.values()) else np.array(VALUES)
    )


def symbol(data: Any) -> Any:
    return tt.dmatrix("x") if numbers(data).ndim == 2 else tt.dvector("x")


@pytest.mark.parametrize("name", DATA)
def test_data_is_an_operand_on_either_side(name: str) -> None:
    data, array = DATA[name], numbers(DATA[name])
    x = symbol(data)
    two = np.full(array.shape, 2.0)
    ours = [apply(x, data) for apply in OPERATORS]
    theirs = [] if name in KEEP_THE_LEFT else [apply(data, x) for apply in OPERATORS]
    results = function([x], [*ours, *theirs, np.add(x, data), tt.exp(data), tt.maximum(data, x)], mode="VM")(two)
    expected = [apply(two, array) for apply in OPERATORS]
    expected += [apply(array, two) for apply in OPERATORS] if theirs else []
    expected += [two + array, np.exp(array), np.maximum(array, two)]
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-6)


@pytest.mark.parametrize("name", DATA)
def test_data_is_taken_in_calls_constants_and_shared_variables(name: str) -> None:
    data, array = DATA[name], numbers(DATA[name])
    x = symbol(data)
    np.testing.assert_allclose(function([x], x * 2, mode="VM")(data), array * 2, rtol=1e-6)
    np.testing.assert_allclose(tt.constant(data).data, array, rtol=1e-6)
    np.testing.assert_allclose(tt.as_tensor(data).eval(), array, rtol=1e-6)
    state = tt.shared(data)
    np.testing.assert_allclose(state.get_value(), array, rtol=1e-6)
    plain = tt.shared(np.zeros_like(array))
    plain.set_value(data)
    np.testing.assert_allclose(plain.get_value(), array, rtol=1e-6)


@pytest.mark.parametrize("name", ["pandas Series", "pandas DataFrame", "pandas array", "Arrow array", "PyTorch tensor"])
def test_data_on_the_left_of_a_ufunc_gives_a_tensor(name: str) -> None:
    x = symbol(DATA[name])
    assert isinstance(np.multiply(DATA[name], x), Variable)
    assert isinstance(np.float64(2) * x, Variable)
    assert isinstance(np.array([1.0, 2.0, 3.0]) @ x, Variable)
    assert isinstance(x.T @ DATA[name], Variable)


@pytest.mark.parametrize(
    ("data", "own"),
    [
        (pd.Series(VALUES), lambda s: s.to_numpy()),
        (pd.Series(VALUES, dtype="Float64"), lambda s: s.array._data),
        (pd.DataFrame(np.ones((3, 2))), lambda d: d.to_numpy()),
        (pl.Series(VALUES), lambda s: s.to_numpy()),
        (pa.array(VALUES), lambda a: a.to_numpy()),
        (pa.chunked_array([VALUES]), lambda a: a.chunk(0).to_numpy()),
        (xr.DataArray(VALUES), lambda d: d.values),
        (torch.tensor(VALUES), lambda t: t.numpy()),
        (jnp.asarray(VALUES), np.asarray),
    ],
    ids=lambda d: f"{type(d).__module__}.{type(d).__name__}",
)
def test_data_is_borrowed_without_a_copy(data: Any, own: Any) -> None:
    kept = tt.shared(data)
    kept.set_value(data, borrow=True)
    assert np.shares_memory(kept.get_value(borrow=True), own(data))
    kept.set_value(data)
    assert not np.shares_memory(kept.get_value(borrow=True), own(data))
    x = kept.type("x")
    borrowing = function([In(x, borrow=True)], Out(x[1:], borrow=True), mode="VM")
    assert np.shares_memory(borrowing(data), own(data))


def test_data_is_an_index() -> None:
    x = tt.dvector("x")
    for index in (pd.Series([2, 0]), pl.Series([2, 0]), pa.array([2, 0]), xr.DataArray([2, 0]), torch.tensor([2, 0])):
        np.testing.assert_array_equal(x[index].eval({x: VALUES}), [4.0, 1.0])
    for mask in (pd.Series(VALUES) > 2, pl.Series(VALUES) > 2, torch.tensor(VALUES) > 2):
        np.testing.assert_array_equal(x[mask].eval({x: VALUES}), [2.5, 4.0])


@pytest.mark.parametrize(
    "data",
    [
        pd.Series([1.0, None, 3.0]),
        pd.Series([1.0, None, 3.0], dtype="Float64"),
        pd.DataFrame({"a": pd.array([1.0, None], dtype="Float64"), "b": [True, False]})["a"],
        pd.Series([1.0, None, 3.0], dtype="category"),
        pl.Series([1.0, None, 3.0]),
        pa.array([1.0, None, 3.0]),
    ],
)
def test_missing_floats_are_nan(data: Any) -> None:
    array = tt.constant(data).data
    assert array.dtype == "float64"
    assert np.isnan(array[1])
    assert array[0] == 1.0


@pytest.mark.parametrize(
    ("data", "cure"),
    [
        (pd.Series([1, None], dtype="Int64", name="age"), r"the Series 'age'.*fillna\(0\)"),
        (pd.Series([True, None], dtype="boolean"), "fillna"),
        (pd.DataFrame({"n": pd.array([1, None], dtype="Int32")}), "column 'n'.*fillna"),
        (pd.Series(pd.Categorical.from_codes([0, -1], categories=[5, 6])), "fillna"),
        (pl.Series("age", [1, None]), r"the Series 'age'.*fill_null\(0\)"),
        (pl.DataFrame({"n": [1, None]}), "column 'n'.*fill_null"),
        (pa.array([1, None]), "fill_null"),
        (pa.array([True, None]), "fill_null"),
        (pa.table({"n": [1, None]}), "column 'n'.*fill_null"),
        (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), "missing rows"),
    ],
)
def test_missing_integers_are_refused_with_the_cure(data: Any, cure: str) -> None:
    x = tt.lvector("x")
    for take in (tt.constant, tt.shared, lambda d: x + d, lambda d: tt.constant([d, d])):
        with pytest.raises(MissingValueError, match=cure):
            take(data)


@pytest.mark.parametrize(
    ("data", "cure"),
    [
        (pd.Series(["a", "b"]), "get_dummies"),
        (pd.Series(["a", "b"], dtype="category"), "cat.codes"),
        (pd.Series([1, "b"]), "to_numeric"),
        (pd.DataFrame({"a": [1, 2], "name": ["u", "v"]}), "column 'name' of dtype str holds no numbers"),
        (pd.Series(pd.date_range("2020", periods=2)), "unit of time"),
        (pd.Index(["a", "b"]), "get_dummies"),
        (pl.Series(["a", "b"]), "to_dummies"),
        (pl.DataFrame({"a": [1, 2], "name": ["u", "v"]}), "column 'name'"),
        (pl.Series([[1], [2, 3]]), "rows of several lengths"),
        (pl.LazyFrame({"a": [1]}), "collect"),
        (pa.array(["a", "b"]), "dictionary_encode"),
        (pa.table({"a": [1, 2], "name": ["u", "v"]}), "column 'name'"),
        (xr.Dataset({"a": ("t", VALUES)}), "Pick one"),
        (torch.ones(2, requires_grad=True), r"tensor\.detach\(\)"),
        (torch.eye(2).to_sparse(), r"tensor\.to_dense\(\)"),
    ],
    ids=lambda d: type(d).__name__ if not isinstance(d, str) else d[:12],
)
def test_what_is_no_number_is_refused_with_the_cure(data: Any, cure: str) -> None:
    x = tt.dvector("x")
    for take in (tt.constant, tt.shared, lambda d: x + d, function([x], x, mode="VM")):
        with pytest.raises(TreadleError, match=cure):
            take(data)


def test_rows_of_fixed_length_are_a_matrix() -> None:
    rows = [[1, 2], [3, 4], [5, 6]]
    for data in (pl.Series(rows, dtype=pl.Array(pl.Int64, 2)), pa.array(rows, pa.list_(pa.int64(), 2))):
        np.testing.assert_array_equal(tt.constant(data).data, np.array(rows), strict=True)


def test_integers_keep_their_dtype() -> None:
    for data in (pd.Series([1, 2], dtype="Int16"), pl.Series([1, 2], dtype=pl.Int16), pa.array([1, 2], pa.int16())):
        assert tt.constant(data).dtype == "int16"
    assert tt.constant(pd.DataFrame({"a": [True], "b": [2]})).dtype == "int64"
    assert tt.constant(pa.scalar(2.5)).data == 2.5


@pytest.mark.parametrize("apply", [operator.add, operator.mul, operator.gt, np.add])
def test_an_array_of_xarray_on_the_left_says_what_to_write(apply: Any) -> None:
    with pytest.raises(NumpyFunctionError, match=r"x of type Vector.*Write x \* array in place of array \* x"):
        apply(VECTORS["xarray DataArray"], tt.dvector("x"))


@pytest.mark.parametrize("name", ["pandas Series", "pandas DataFrame"])
def test_a_matrix_product_of_pandas_says_what_to_write(name: str) -> None:
    x = symbol(DATA[name])
    with pytest.raises(TensorTypeError, match=r"x of type .* has no value yet.*It was pandas.*as_tensor\(values\) @ x"):
        DATA[name] @ x


def test_functions_of_pytorch_build_expressions() -> None:
    x, t = tt.dvector("x"), torch.tensor(VALUES, dtype=torch.float64)
    results = function(
        [x], [torch.exp(x), torch.add(t, x), torch.sigmoid(x), 2 / x, t - x, t.mul(x), t == x], mode="VM"
    )
    np.testing.assert_allclose(results(VALUES)[4], np.zeros(3))
    np.testing.assert_allclose(results(VALUES)[0], np.exp(VALUES))
    with pytest.raises(NumpyFunctionError, match=r"torch\.stack: .* Look for a function like it in treadle\.tensor"):
        torch.stack([t, x])


class Celsius:
    def __init__(self, *degrees: float) -> None:
        self.degrees = degrees


class Fahrenheit(Celsius):
    pass


def test_a_class_is_registered_by_name_or_itself() -> None:
    before = dict(OTHER_ARRAYS._by_class), dict(OTHER_ARRAYS._by_name)
    try:
        register_array(f"{__name__.partition('.')[0]}.Celsius", lambda _, c: np.array(c.degrees) + 273.0)
        x = tt.dvector("x")
        kelvins = np.array([273.0, 274.0])
        np.testing.assert_array_equal((x + Celsius(0.0, 1.0)).eval({x: [0.0, 0.0]}), kelvins)
        np.testing.assert_array_equal(tt.shared(Fahrenheit(0.0, 1.0)).get_value(), kelvins)
        np.testing.assert_array_equal(function([x], x, mode="VM")(Celsius(0.0, 1.0)), kelvins)
        register_array(Fahrenheit)(lambda _, f: (np.array(f.degrees) - 32) / 1.8)
        np.testing.assert_array_equal(tt.constant(Fahrenheit(32.0)).data, [0.0])
        with pytest.raises(DuplicateRegistrationError, match="is registered already"):
            register_array(Fahrenheit, np.asarray)
        for wrong in (list, np.ndarray, tt.TensorVariable, "nothing", 3):
            with pytest.raises(TensorTypeError, match="class"):
                register_array(wrong, np.asarray)
    finally:
        OTHER_ARRAYS._by_class, OTHER_ARRAYS._by_name = before
        OTHER_ARRAYS._found = {}


def test_an_array_with_dlpack_alone_is_taken() -> None:
    class Packed:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    array = np.array(VALUES)
    np.testing.assert_array_equal(tt.shared(Packed(array)).get_value(), array)
    state = tt.shared(array)
    state.set_value(Packed(array), borrow=True)
    assert np.shares_memory(state.get_value(borrow=True), array)


def test_no_library_is_imported_for_it() -> None:
    program = (
        "import sys, numpy as np, treadle.tensor as tt\n"
        "class Own:\n"
        "    def __array__(self, dtype=None, copy=None): return np.ones(2)\n"
        "tt.constant(Own()); tt.shared(Own())\n"
        "found = {'pandas', 'polars', 'pyarrow', 'torch', 'xarray', 'jax'} & set(sys.modules)\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
