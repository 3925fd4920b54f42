"""Named tensors give what xarray's DataArrays give, with dimensions in the same order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import treadle.named as nm
from tests.named.comparison import ARRAYS, INPUTS, assert_same

Expression = Callable[..., Any]


def check(*expressions: Expression, names: str = "x") -> None:
    """Compare methods and operators that both have."""
    tensors, arrays = [INPUTS[n] for n in names], [ARRAYS[n] for n in names]
    assert_same([e(*tensors) for e in expressions], [e(*arrays) for e in expressions])


def test_operators_broadcast_by_name() -> None:
    ops = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
    ops += [operator.lt, operator.le, operator.gt, operator.ge]
    check(*ops, names="xy")
    check(*ops, names="zx")
    check(*(lambda x, op=op: op(x, 2.0) for op in ops), *(lambda x, op=op: op(3, x) for op in ops))
    check(lambda x: x**2, lambda x: 2**x, lambda x: -x, abs, lambda x: ~(x > 0), lambda x: (x > 0) & (x < 1))
    check(lambda x: (x > 0) | (x < 1), lambda x: (x > 0) ^ (x < 1))


def test_reductions_take_dimensions_away() -> None:
    for dim in (None, "b", ("c", "a"), ["b"], ...):
        names = ("sum", "prod", "mean", "max", "min", "std", "var", "median", "all", "any")
        check(*(lambda x, n=n, dim=dim: getattr(x, n)(dim) for n in names))
    check(lambda x: x.var("a", ddof=1), lambda x: x.std(ddof=1), lambda x: x.argmax("b"), lambda x: x.argmin("c"))
    check(lambda x: (x > 0).sum("a"), lambda x: (x > 0).all("b"), lambda x: x.astype("int8").sum("b"))


def test_cumulative_functions_keep_dimensions() -> None:
    check(lambda x: x.cumsum("b"), lambda x: x.cumprod("c"), lambda x: x.cumsum(["a", "c"]), lambda x: x.cumsum())
    check(lambda x: x.diff("b"), lambda x: x.diff("c", n=2))


def test_dimensions_are_put_in_order() -> None:
    check(lambda x: x.transpose(), lambda x: x.transpose("c", ...), lambda x: x.transpose(..., "a"), lambda x: x.T)
    check(lambda x: x.transpose("c", "a", "b"), lambda x: x.transpose("b", "q", ..., missing_dims="ignore"))
    check(lambda x: x.rename(a="q"), lambda x: x.rename({"b": "r", "c": "s"}))


def test_dimensions_are_added_and_taken_away() -> None:
    check(lambda x: x.expand_dims("q"), lambda x: x.expand_dims(["q", "r"]), lambda x: x.expand_dims(q=3))
    check(lambda x: x.expand_dims({"q": 2, "r": 3}), lambda x: x.expand_dims("q", axis=1))
    check(lambda x: x.expand_dims("q", axis=-1), lambda x: x.expand_dims(["q", "r"], axis=[0, 2]))
    check(lambda x: x.isel(a=slice(0, 1)).squeeze("a"), lambda x: x.expand_dims("q").squeeze("q"))
    check(lambda x: x.isel(c=[1]).squeeze(axis=2))


def test_tensors_are_broadcast_against_each_other() -> None:
    tensors, arrays = (INPUTS["x"], INPUTS["y"], INPUTS["z"]), (ARRAYS["x"], ARRAYS["y"], ARRAYS["z"])
    assert_same(list(nm.broadcast(*tensors)), list(xr.broadcast(*arrays)))
    assert_same(list(nm.broadcast(*tensors[:2], exclude="c")), list(xr.broadcast(*arrays[:2], exclude=["c"])))
    check(lambda z, x: z.broadcast_like(x), lambda z, x: x.broadcast_like(z), names="zx")


def test_stacked_dimensions_come_last() -> None:
    x, array = INPUTS["x"], ARRAYS["x"]
    stacked: list[Any] = [{"q": ("a", "b")}, {"q": ("b", "a")}, {"q": ("a", "b", "c")}]
    plain = [array.stack(s, create_index=False) for s in stacked]
    assert_same([x.stack(s) for s in stacked], plain)
    assert_same([x.stack(q=("a", "c")).unstack(q={"a": 2, "c": 4})], [array.transpose("b", "a", "c")])


def test_tensors_are_joined() -> None:
    x, z, arrays = INPUTS["x"], INPUTS["z"], ARRAYS
    assert_same(
        [nm.concat([x, x * 2], "b"), nm.concat([z, z], "new"), nm.concat([x, 0.0], "c")],
        [
            xr.concat([arrays["x"], arrays["x"] * 2], "b"),
            xr.concat([arrays["z"], arrays["z"]], "new"),
            xr.concat([arrays["x"], xr.zeros_like(arrays["x"].isel(c=[0]))], "c"),
        ],
    )


def test_products_are_summed_over_dimensions() -> None:
    check(lambda x, y: x.dot(y), lambda x, y: x.dot(y, dim=["a", "c"]), lambda x, y: x.dot(y, dim=...), names="xy")
    check(lambda x, y: x @ y, lambda x, y: x.dot(y, dim="b"), names="xy")
    check(lambda x, w: x.dot(w), names="xw")


def test_elements_are_chosen() -> None:
    check(lambda x: x.where(x > 0), lambda x: x.where(x > 0, 1.0), lambda x: x.where(x > 0).fillna(2.0))
    check(lambda x: x.where(x > 0).isnull(), lambda x: x.where(x > 0).notnull(), lambda x: x.clip(-0.5, 0.5))
    check(lambda x: x.clip(min=0.0), lambda x: x.clip(max=0.0), lambda x: x.round(1), lambda x: x.astype("float32"))
    check(lambda x, z: x.where(z > 0, z), names="xz")
    x, z = INPUTS["x"], INPUTS["z"]
    array, other = ARRAYS["x"], ARRAYS["z"]
    choose: Any = xr.where
    assert_same([nm.where(z > 0, x, z)], [choose(other > 0, array, other)])
    assert_same(
        [nm.full_like(x, 3), nm.ones_like(x), nm.zeros_like(x, dtype="int64")],
        [xr.full_like(array, 3), xr.ones_like(array), xr.zeros_like(array, dtype="int64")],
    )


INDICES: tuple[dict[str, Any], ...] = (
    {"a": 0},
    {"a": -1, "c": 2},
    {"b": slice(1, None)},
    {"a": 1, "c": slice(None, None, -2)},
    {"b": [2, 0, 0]},
    {"a": [1, 0], "c": [3, 1, 2]},
    {"b": np.array([True, False, True])},
    {"a": ("q", [0, 1, 1])},
    {"a": ("q", [0, 1, 1]), "c": ("q", [3, 2, 0])},
    {"a": ("q", [0, 1, 1]), "c": ("r", [3, 2])},
    {"a": (("q", "r"), [[0, 1], [1, 1]]), "b": ("q", [2, 0]), "c": ("r", [1, 3])},
    {"a": (("q", "r"), [[0, 1], [1, 1]]), "b": slice(1, None)},
    {"a": ("q", [0, 1]), "b": 1, "c": slice(2)},
    {"c": ("a", [3, 1])},
    {"c": ("b", [3, 1, 0]), "a": 0},
    {"b": ("a", [2, 1]), "c": ("c", [0, 1])},
    {},
)


def as_labelled(index: dict[str, Any]) -> dict[str, Any]:
    return {d: xr.Variable(i[0], i[1]) if isinstance(i, tuple) else i for d, i in index.items()}


def as_named(index: Any) -> Any:
    return nm.as_xtensor(np.asarray(index[1]), dims=index[0]) if isinstance(index, tuple) else index


def test_parts_are_read() -> None:
    x, array = INPUTS["x"], ARRAYS["x"]
    expected = [array.isel(i) for i in INDICES]
    assert_same([x.isel(i) for i in INDICES], expected)
    assert_same([x[i] for i in INDICES], expected)
    assert_same([x.isel({d: as_named(i) for d, i in index.items()}) for index in INDICES], expected)
    check(lambda x: x[0], lambda x: x[..., 1], lambda x: x[:, 1:], lambda x: x[0, ..., [1, 2]], lambda x: x[:, :, 1])
    check(lambda x: x.head(2), lambda x: x.tail(b=2), lambda x: x.thin(c=2), lambda x: x.tail(1))


def test_parts_are_written() -> None:
    x, array = INPUTS["x"], ARRAYS["x"]
    written, expected = [], []
    for index in INDICES:
        part = x.isel(index)
        copy = array.copy()
        copy[as_labelled(index)] = 7.0
        written.append(part.set(7.0))
        expected.append(copy)
        # A value with dimensions in another order.
        copy = array.copy()
        copy[as_labelled(index)] = array.isel(index) * 2
        written.append(part.set((part * 2).transpose()))
        expected.append(copy)
    assert_same(written, expected)


def test_parts_are_added_to_as_often_as_they_are_named() -> None:
    x, array = INPUTS["x"], ARRAYS["x"]
    totals, expected = [], []
    for index in INDICES:
        part = x.isel(index)
        totals.append(part.inc(part))
        # Which elements they are, and how often.
        numbers = array.copy(data=np.arange(array.size).reshape(array.shape)).isel(index).values.ravel()
        counts = np.bincount(numbers, minlength=array.size).reshape(array.shape)
        expected.append(array * (1 + counts))
    assert_same(totals, expected)


def test_positions_and_bounds_may_be_variables() -> None:
    x, array = INPUTS["x"], ARRAYS["x"]
    n = nm.as_xtensor(1).astype("int64") + (x.sizes["a"] * 0)
    assert_same(
        [x.isel(b=n), x.isel(c=slice(n, None)), x.isel(a=x.argmax("a").clip(0, 1))],
        [array.isel(b=1), array.isel(c=slice(1, None)), array.isel(a=array.argmax("a").clip(0, 1))],
    )


@pytest.mark.parametrize("name", ["exp", "log1p", "sqrt", "tanh", "floor", "square", "isfinite", "sign", "erf"])
def test_functions_of_one_operand_keep_dimensions(name: str) -> None:
    x = nm.xtensor("x", dims=("b", "a"))
    value = np.array([[0.5, 1.5], [2.0, 0.25], [4.0, 3.0]])
    import treadle.tensor as tt

    result = getattr(nm.math, name)(x)
    assert result.dims == ("b", "a")
    np.testing.assert_allclose(result.eval({x: value}), getattr(tt, name)(tt.constant(value)).eval())


def test_functions_of_several_operands_broadcast_by_name() -> None:
    x, z = INPUTS["x"], INPUTS["z"]
    array, other = ARRAYS["x"], ARRAYS["z"]
    names = ("maximum", "minimum", "arctan2", "hypot", "logaddexp")
    assert_same(
        [getattr(nm.math, n)(x, z) for n in names], [xr.apply_ufunc(getattr(np, n), array, other) for n in names]
    )
    exps: Any = np.exp(array)
    assert_same(
        [nm.math.softmax(x, "b"), nm.math.logsumexp(x, ("a", "c")), nm.math.log_softmax(x, ["a", "b"])],
        [exps / exps.sum("b"), np.log(exps.sum(("a", "c"))), array - np.log(exps.sum(["a", "b"]))],
    )
