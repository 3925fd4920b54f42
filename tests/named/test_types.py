"""Types, constants, shared variables and conversions of named tensors; their errors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import xarray as xr

import treadle.named as nm
import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.config import config
from treadle.graph import Constant, clone_replace, debugprint, equal_computations

NUMBERS: Any = (1,)
VALUE = np.arange(6.0).reshape(2, 3)
ARRAY = xr.DataArray(VALUE, dims=("a", "b"), coords={"a": ["u", "v"]}, name="rain")


def test_types_with_equal_names_dtype_and_lengths_are_equal() -> None:
    kind = nm.XTensorType("float32", dims=("a", "b"), shape=(2, None))
    assert kind == kind.clone()
    assert hash(kind) == hash(kind.clone())
    assert (kind.dtype, kind.dims, kind.shape, kind.ndim) == ("float32", ("a", "b"), (2, None), 2)
    for other in (kind.clone(dims=("b", "a")), kind.clone(dtype="float64"), kind.clone(shape=(2, 3))):
        assert kind != other
    assert kind.is_super(kind.clone(shape=(2, 3)))
    assert not kind.is_super(kind.clone(dims=("b", "a")))
    assert pickle.loads(pickle.dumps(kind)) == kind
    assert nm.XTensorType("floatX", dims="a").dtype == config.floatX
    assert repr(kind) == "XTensorType(float32, shape=(2, None), dims=('a', 'b'))"


def test_values_become_named_tensors() -> None:
    x = tt.dmatrix("x")
    assert nm.as_xtensor(x, dims=("a", "b")).dims == ("a", "b")
    assert nm.as_xtensor(VALUE, dims=("a", "b")).type.shape == (2, 3)
    assert isinstance(nm.as_xtensor(VALUE, dims=("a", "b")), nm.XTensorConstant)
    assert nm.as_xtensor(2).dims == ()
    assert nm.as_xtensor(tt.dscalar()).dims == ()
    assert nm.as_xtensor([1, 2], dims="a").dims == ("a",)
    named = nm.as_xtensor(ARRAY)
    assert named.dims == ("a", "b")
    np.testing.assert_array_equal(named.eval(), VALUE)
    assert nm.as_xtensor(named) is named
    assert nm.as_xtensor(named, dims=["a", "b"]) is named
    assert nm.tensor_from_xtensor(named).type.shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: nm.xtensor("x", dims=("a", "a")), ValueError, "must differ"),
        (lambda: nm.as_xtensor([1], dims=NUMBERS), TypeError, "must be names"),
        (lambda: nm.xtensor("x", dims=("a",), shape=(1, 2)), ValueError, "needs a length"),
        (lambda: nm.as_xtensor([1, 2]), TypeError, "needs names"),
        (lambda: nm.as_xtensor(tt.dvector("v")), TypeError, "needs names"),
        (lambda: nm.as_xtensor([1, 2], dims=("a", "b")), ValueError, "Give as many"),
        (lambda: nm.as_xtensor(nm.xtensor("x", dims="a"), dims="b"), ValueError, "Transpose or rename"),
        (lambda: nm.as_xtensor(ARRAY, dims=("b", "a")), ValueError, "Transpose or rename"),
        (lambda: nm.xtensor_from_tensor(tt.dmatrix("x"), "a"), ValueError, "Give as many"),
        (lambda: nm.tensor_from_xtensor(tt.dmatrix("x")), TypeError, "named tensor is needed"),
        (lambda: tt.exp(nm.xtensor("x", dims="a")), TypeError, r"x\.values"),
        (lambda: nm.xtensor("x", dims="a") + tt.dvector("v"), TypeError, "needs names"),
        (lambda: nm.xtensor("x", dims="a") + VALUE, TypeError, "needs names"),
        (lambda: bool(nm.xtensor("x", dims="a")), TypeError, "no value yet"),
        (lambda: float(nm.xtensor("x", dims="a")), TypeError, "no value yet"),
        (lambda: list(nm.xtensor("x", dims="a")), TypeError, "iteration"),
        (lambda: nm.xtensor("x", dims="a").sel(a=1), NotImplementedError, "isel"),
        (lambda: nm.xtensor("x", dims="a").coords, NotImplementedError, "isel"),
        (lambda: nm.xtensor("x", dims="a").sum("b"), ValueError, "are asked for"),
        (lambda: nm.xtensor("x", dims="a").transpose("b"), ValueError, "do not exist"),
        (lambda: nm.xtensor("x", dims=("a", "b")).transpose("b"), ValueError, "Name each once"),
        (lambda: nm.xtensor("x", dims="a").transpose(..., ...), ValueError, "Use one"),
        (lambda: nm.xtensor("x", dims="a").rename(b="c"), ValueError, "cannot become"),
        (lambda: nm.xtensor("x", dims=("a", "b")).rename(b="a"), ValueError, "must differ"),
        (lambda: nm.xtensor("x", dims="a").stack(q="a"), TypeError, "sequence of names"),
        (lambda: nm.xtensor("x", dims="a").stack(a=("a",)), ValueError, "already"),
        (lambda: nm.xtensor("x", dims="a").unstack(a={"b": 2}), ValueError, "Use rename"),
        (lambda: nm.xtensor("x", dims="a").expand_dims("a"), ValueError, "already"),
        (lambda: nm.xtensor("x", dims="a").expand_dims(b=-1), ValueError, "0 or more"),
        (lambda: nm.xtensor("x", dims="a").expand_dims(b=1.5), TypeError, "must be an integer"),
        (lambda: nm.xtensor("x", dims="a", shape=(2,)).squeeze("a"), ValueError, "not 1"),
        (lambda: nm.xtensor("x", dims="a").isel(b=0), ValueError, "do not exist"),
        (lambda: nm.xtensor("x", dims="a")[0, 0], IndexError, "one for each at most"),
        (lambda: nm.xtensor("x", dims="a")[..., ...], IndexError, "Use one"),
        (lambda: nm.xtensor("x", dims="a")[None], TypeError, "expand_dims"),
        (lambda: nm.xtensor("x", dims="a")[1.5], TypeError, "integers or a mask"),
        (lambda: nm.xtensor("x", dims="a")[[[0, 1]]], IndexError, "without names"),
        (lambda: nm.xtensor("x", dims="a").isel(a=("b", [True, False])), IndexError, "just that dimension"),
        (lambda: nm.xtensor("x", dims="a").set(1), TypeError, "no part"),
        (lambda: nm.xtensor("x", dims="a")[0].set(nm.xtensor("y", dims="q")), ValueError, "as well"),
        (lambda: nm.dot(nm.xtensor("x", dims="a"), 2.0, dim="b"), ValueError, "neither"),
        (lambda: nm.math.add(nm.xtensor("x", dims="a")), TypeError, "2 operands"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_lengths_that_differ_are_refused() -> None:
    x, y = nm.xtensor("x", dims=("a", "b"), shape=(2, 3)), nm.xtensor("y", dims=("b",), shape=(4,))
    for join in (lambda: x + y, lambda: nm.dot(x, y), lambda: nm.broadcast(x, y), lambda: nm.concat([x, y], "a")):
        with pytest.raises(nm.DimsError, match="lengths 3 and 4"):
            join()


def test_numbers_take_the_dtype_of_tensors() -> None:
    x = nm.xtensor("x", dims="a", dtype="float32")
    assert (x * 2.5).dtype == "float32"
    assert (1 / x).dtype == "float32"
    assert (x.astype("int8") + 1).dtype == "int8"
    assert (x * np.float64(2.5)).dtype == "float64"
    assert nm.where(x > 0, x, 0.0).dtype == "float32"
    assert nm.concat([x, 0, 1.5], "a").dtype == "float32"
    assert (nm.where(x > 0, x, 0.0) + 1).eval({x: [-1, 2]}).tolist() == [1, 3]


def test_scalars_without_names_broadcast() -> None:
    x: Any = nm.xtensor("x", dims="a")
    n: Any = tt.dscalar("n")
    for total in (x + n, n + x, n * x, x / n, tt.sqrt(n) + x, n**x, np.float64(2) - x):
        assert total.dims == ("a",)
    np.testing.assert_array_equal((n - x).eval({x: [1.0, 2.0], n: 5.0}), [4, 3])


def test_functions_take_and_return_arrays() -> None:
    x = nm.xtensor("x", dims=("a", "b"))
    f = function([x], [x.sum("a"), x.T], mode="VM")
    for given in (VALUE, ARRAY, ARRAY.transpose("b", "a")):
        total, turned = f(given)
        assert type(total) is np.ndarray
        np.testing.assert_array_equal(total, VALUE.sum(0))
        np.testing.assert_array_equal(turned, VALUE.T)
    with pytest.raises(Exception, match=r"a DataArray of \('q', 'b'\)"):
        f(ARRAY.rename(a="q"))
    with pytest.raises(TypeError, match="rank"):
        f(VALUE[0])


def test_results_become_labelled_arrays() -> None:
    x = nm.as_xtensor(ARRAY).sum("b")
    labelled = nm.to_data_array(x.eval(), x, coords=ARRAY.coords)
    assert labelled.sel(a="v") == 12
    assert nm.to_data_array(VALUE, ("a", "b"), name="q").name == "q"
    with pytest.raises(nm.DimsError, match="Give as many"):
        nm.to_data_array(VALUE, ("a",))


def test_shared_variables_are_updated() -> None:
    for state in (nm.xtensor_shared(VALUE, dims=("a", "b"), name="rain"), nm.xtensor_shared(ARRAY), shared(ARRAY)):
        assert isinstance(state, nm.XTensorSharedVariable)
        assert state.type.shape == (None, None)
        step = function([], state.sum("b"), updates={state: (state * 2).transpose("b", "a")}, mode="VM")
        np.testing.assert_array_equal(step(), VALUE.sum(1))
        np.testing.assert_array_equal(step(), VALUE.sum(1) * 2)
        np.testing.assert_array_equal(state.get_value(), VALUE * 4)
        state.set_value(ARRAY.transpose("b", "a"))
        np.testing.assert_array_equal(state.get_value(), VALUE)
        state.set_value(np.ones((4, 1)))
        assert step().shape == (4,)
    assert nm.xtensor_shared(ARRAY).name == "rain"


def test_graphs_are_printed_pickled_compared_and_copied() -> None:
    x, y = nm.xtensor("x", dims=("a", "b")), nm.xtensor("y", dims=("b",))
    z = (nm.math.exp(x) * y).sum("b").isel(a=slice(1, None))
    assert "XElemwise{exp}" in debugprint(z, file="str")  # type: ignore[operator]  # a string
    (copy,) = pickle.loads(pickle.dumps([z]))
    assert copy.type == z.type
    again = (nm.math.exp(x) * y).sum("b").isel(a=slice(1, None))
    assert equal_computations([z], [again])
    replaced = clone_replace(z, {x: nm.xtensor("w", dims=("a", "b"))})
    assert replaced.type == z.type


def test_ops_stay_in_graphs_until_they_are_rewritten() -> None:
    x = nm.xtensor("x", dims=("a", "b"))
    parts = {
        nm.XElemwise: nm.math.exp(x), nm.XReduce: x.sum("a"), nm.XCumReduce: x.cumsum("a"), nm.Transpose: x.T,
        nm.Stack: x.stack(q=("a", "b")), nm.UnStack: x.unstack(a={"p": 2, "q": 3}), nm.Rename: x.rename(a="q"),
        nm.Index: x[0], nm.IndexUpdate: x[0].set(0.0), nm.Concat: nm.concat([x, x], "a"), nm.Dot: nm.dot(x, x),
        nm.ExpandDims: x.expand_dims("q"), nm.Squeeze: x.squeeze("a"), nm.Broadcast: x.broadcast_like(x[0]),
        nm.XFunction: x.mean("a"), nm.XTensorFromTensor: nm.as_xtensor(tt.dvector(), dims="a"),
        nm.XBlockwise: nm.linalg.cholesky(x, dims=("a", "b")), nm.XRV: nm.random.shared_rng(seed=1).normal(x, 1)[1],
    }  # fmt: skip
    for op, result in parts.items():
        assert result.owner is not None
        assert isinstance(result.owner.op, op)
    f = function([x], [nm.math.exp(x).sum("b")], mode="VM")
    assert not any(isinstance(node.op, nm.XOp | nm.XTypeCastOp) for node in f.maker.fgraph.toposort())


def test_references_compute_without_rewriting() -> None:
    x = nm.xtensor("x", dims=("a", "b"))
    cases: list[tuple[Any, Any]] = [
        (nm.math.exp(x), np.exp(VALUE)),
        (x.sum("b"), VALUE.sum(1)),
        (x.isel(b=slice(0, 3, 2)), VALUE[:, ::2]),
    ]
    for result, expected in cases:
        node = result.owner
        assert node is not None
        values = [v.data if isinstance(v, Constant) else VALUE for v in node.inputs[:1]]
        values += [slice(None), slice(0, 3, 2)][: len(node.inputs) - 1]
        cells: list[list[Any]] = [[None]]
        node.op.perform(node, values, cells)
        np.testing.assert_allclose(cells[0][0], expected)
