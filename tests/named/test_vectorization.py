"""Graphs of named tensors applied along further dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.named as nm
import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import VectorizeError, vectorize_graph

VALUES = np.random.default_rng(2).uniform(0.5, 1.5, (2, 3, 4))  # of a, b and draw

CASES: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: nm.math.log(x) + 1,
    "reduction": lambda x: x.sum("a") + x.mean(),
    "order": lambda x: x.T.stack(q=("b", "a")),
    "parts": lambda x: x[0, ::2].rename(b="q") * x.isel(a=("q", [1, 0]), b=[2, 2]),
    "writing": lambda x: x.isel(b=0).set(x.isel(a=1, b=1)),
    "joined": lambda x: nm.concat([x, x.isel(b=0)], "b"),
    "added": lambda x: x.expand_dims(q=2).broadcast_like(x.rename(a="r")),
    "through plain tensors": lambda x: nm.as_xtensor(tt.exp(x.values).sum(axis=0), dims="b"),
    "dot": lambda x: nm.dot(x, x.rename(a="r")),
    "linalg": lambda x: nm.linalg.inv(nm.dot(x, x.rename(a="r")), dims=("a", "r")),
}


@pytest.mark.parametrize("case", CASES)
def test_a_batch_is_what_its_elements_are(case: str) -> None:
    x = nm.xtensor("x", dims=("a", "b"), shape=(2, 3))
    wide = nm.xtensor("wide", dims=("a", "draw", "b"), shape=(2, None, 3))
    result = CASES[case](x)
    batched = nm.vectorize_graph(result, {x: wide})
    assert batched.dims == ("draw", *result.dims)
    single = function([x], result, mode="VM")
    together = function([wide], batched, mode="VM")(VALUES.transpose(0, 2, 1))
    np.testing.assert_allclose(together, [single(VALUES[..., i]) for i in range(4)])


def test_named_and_plain_tensors_are_mixed() -> None:
    x, y = nm.xtensor("x", dims="a"), tt.dvector("y")
    total = x + nm.as_xtensor(y, dims="a")
    wide, rows = nm.xtensor("wide", dims=("a", "c")), tt.dmatrix("rows")
    values = np.arange(15.0).reshape(5, 3), np.arange(20.0).reshape(4, 5)
    separate = nm.vectorize_graph(total, {x: wide, y: rows}, new_tensor_dims="b")
    assert separate.dims == ("c", "b", "a")
    expected = values[0].T[:, None] + values[1][None]
    np.testing.assert_array_equal(separate.eval({wide: values[0], rows: values[1]}), expected)
    joint = nm.vectorize_graph(total, {x: wide, y: rows}, new_tensor_dims=("c",))
    assert joint.dims == ("c", "a")
    np.testing.assert_array_equal(joint.eval({wide: values[0], rows: values[1][:3]}), values[0].T + values[1][:3])
    plain = nm.vectorize_graph(y * 2, {y: rows}, new_tensor_dims=("c",))
    np.testing.assert_array_equal(plain.eval({rows: values[1]}), values[1] * 2)


def test_the_plain_function_takes_one_dimension_at_a_time() -> None:
    x = nm.xtensor("x", dims=("a", "b"))
    wide = nm.xtensor("wide", dims=("draw", "a", "b"))
    assert vectorize_graph(x.sum("a"), {x: wide}).dims == ("draw", "b")
    wider = nm.xtensor("wider", dims=("chain", "draw", "a", "b"))
    with pytest.raises(VectorizeError, match=r"treadle\.named\.vectorize_graph"):
        vectorize_graph(x.values, {x: wider})
    with pytest.raises(nm.DimsError, match="lacks its dimensions"):
        nm.vectorize_graph(x.sum(), {x: nm.xtensor("v", dims="a")})
    y = tt.dvector("y")
    with pytest.raises(nm.DimsError, match="names 0"):
        nm.vectorize_graph(nm.as_xtensor(y, dims="a"), {y: tt.dmatrix("rows")})
    with pytest.raises(VectorizeError, match="no names"):
        vectorize_graph(nm.as_xtensor(y, dims="a"), {y: tt.dmatrix("rows")})


def test_draws_of_a_batch_are_independent() -> None:
    mean = nm.xtensor("mean", dims="a")
    _, draw = nm.random.shared_rng(seed=1).normal(mean, 1.0, extra_dims={"q": 2})
    wide = nm.xtensor("wide", dims=("a", "draw"))
    batched = nm.vectorize_graph(draw, {mean: wide})
    assert batched.dims == ("draw", "q", "a")
    assert len(np.unique(batched.eval({wide: np.zeros((3, 4))}))) == 24
