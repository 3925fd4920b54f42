"""Derivatives of named tensors, in both modes, against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.named as nm
import treadle.tensor as tt
from treadle.compile import function
from treadle.config import TreadleError

X, Y = np.random.default_rng(3).uniform(0.5, 1.5, (2, 3)), np.random.default_rng(4).uniform(0.5, 1.5, (3, 2))

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise": lambda x, y: nm.math.log(x) * y + 2.0 / y,
    "reductions": lambda x, y: x.sum("a") * y.prod("c") + x.max() - y.mean(),
    "moments": lambda x, y: x.std("b") + nm.math.logsumexp(y, "b") + x.median("a"),
    "cumulative": lambda x, y: x.cumsum("b").cumprod("a") + y.diff("b").sum(),
    "dot": lambda x, y: nm.dot(x, y) + nm.dot(x, y, dim=...),
    "indexing": lambda x, y: x.isel(a=("q", [0, 1, 1]), b=("q", [0, 2, 2])) * y.isel(b=0),
    "writing": lambda x, y: x.isel(b=[0, 0]).inc(y.isel(b=[0, 1]).rename(c="a")) * x.isel(a=0).set(y.isel(c=1)),
    "shapes": lambda x, y: nm.concat([x.T, y], "b").stack(q=("c", "a")).expand_dims(r=2).sum("b") * y.broadcast_like(x),
    "softmax": lambda x, y: nm.math.softmax(x, "b") * y.clip(0.7, 1.2),
    "linalg": lambda x, y: nm.linalg.cholesky(
        nm.dot(x, x.rename(a="a2")) + nm.as_xtensor(np.eye(2), dims=("a", "a2")), dims=("a", "a2")
    ) * y.sum(),
    "solve": lambda x, y: nm.linalg.solve(
        nm.dot(x, x.rename(a="a2")) + nm.as_xtensor(np.eye(2), dims=("a", "a2")), y.rename(c="a"), dims=("a", "a2", "b")
    ),
    "convolution": lambda x, y: nm.signal.convolve1d(x, y.rename(b="k"), dims=("b", "k"), mode="same"),
}  # fmt: skip


def inputs() -> tuple[Any, Any]:
    return nm.xtensor("x", dims=("a", "b")), nm.xtensor("y", dims=("b", "c"))


@pytest.mark.parametrize("case", CASES)
def test_derivatives_agree_with_differences(case: str) -> None:
    x, y = inputs()
    result = CASES[case](x, y)
    weights = np.random.default_rng(5).normal(size=result.eval({x: X, y: Y}).shape)
    cost = (result * nm.as_xtensor(weights, dims=result.dims)).sum()
    slopes = tt.grad(cost, [x, y])
    assert [s.type.dims for s in slopes] == [x.dims, y.dims]
    u, v = nm.xtensor("u", dims=x.dims), nm.xtensor("v", dims=y.dims)
    moved = tt.pushforward(cost, [x, y], [u, v])
    f = function([x, y, u, v], [cost, *slopes, moved], mode="VM", on_unused_input="ignore")
    du, dv = np.random.default_rng(6).normal(size=X.shape), np.random.default_rng(7).normal(size=Y.shape)
    _, gx, gy, forward = f(X, Y, du, dv)
    step = 1e-6
    ahead, behind = f(X + step * du, Y + step * dv, du, dv)[0], f(X - step * du, Y - step * dv, du, dv)[0]
    np.testing.assert_allclose((gx * du).sum() + (gy * dv).sum(), (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(forward, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-8)


def test_second_derivatives_are_taken() -> None:
    x, y = inputs()
    slope = tt.grad((x**3 * y).sum().values, x)
    curvature = tt.grad(slope.sum().values, x)
    np.testing.assert_allclose(curvature.eval({x: X, y: Y}), 6 * X * Y.sum(1))


def test_what_a_cost_does_not_depend_on_has_a_zero_gradient() -> None:
    x, y = inputs()
    gradient = tt.grad(x.sum().values, y, disconnected_inputs="ignore")
    assert gradient.type.dims == y.dims
    assert gradient.eval({y: Y}).tolist() == [[0, 0]] * 3


def test_draws_have_derivatives_by_their_parameters() -> None:
    x, _ = inputs()
    _, draw = nm.random.shared_rng(seed=1).normal(x, 1.0, extra_dims={"q": 4})
    assert tt.grad(draw.sum().values, x).eval({x: X}).tolist() == [[4, 4, 4]] * 2
    _, count = nm.random.shared_rng(seed=1).poisson(x)
    with pytest.raises(TypeError, match="discrete"):
        tt.grad(count.astype("float64").sum().values, x)


def test_what_is_not_chosen_has_no_part_in_a_gradient() -> None:
    x = nm.xtensor("x", dims="a")
    cost = nm.where(x > 0, nm.math.log(x), 0.0).sum()
    assert tt.grad(cost, x).eval({x: [0.0, 1.0, 2.0]}).tolist() == [0, 1, 0.5]


def test_gradients_by_intermediate_tensors_are_taken() -> None:
    x = nm.xtensor("x", dims=("a", "b"))
    y = nm.math.exp(x).sum("b")
    slope = tt.grad((y**2).sum(), y)
    assert slope.type.dims == ("a",)
    np.testing.assert_allclose(slope.eval({x: X}), 2 * np.exp(X).sum(1))
    constant = tt.grad((y * x).sum(), x, consider_constant=[y])
    np.testing.assert_allclose(constant.eval({x: X}), np.repeat(np.exp(X).sum(1)[:, None], 3, 1))


def test_a_choice_between_named_tensors_is_one_of_plain_ones() -> None:
    x, y = nm.xtensor("x", dims=("a", "b")), nm.xtensor("y", dims=("a", "b"))
    taken = tt.bscalar("taken")
    chosen: Any = tt.ifelse(taken, x * 2, nm.math.exp(y))
    cost, slope = tt.value_and_grad(chosen.sum(), x)
    assert nm.as_xtensor(cost).dims == ()
    for mode in ("VM", "C"):
        f = function([taken, x, y], [cost, slope], mode=mode)
        assert f(1, X, X)[0] == pytest.approx(2 * X.sum())
        assert f(1, X, X)[1].tolist() == [[2.0] * 3] * 2
        assert f(0, X, X)[0] == pytest.approx(np.exp(X).sum())
        assert f(0, X, X)[1].tolist() == [[0.0] * 3] * 2


def test_jacobians_and_hessians_have_the_dimensions_of_both() -> None:
    x, w = nm.xtensor("x", dims=("a", "b")), nm.xtensor("w", dims="a")
    y = nm.math.exp(x) * w
    new = {"a": "a2", "b": "b2"}
    # One by a tensor that is computed itself, and one that does not depend on the values.
    results = [
        nm.jacobian(y, x, new), nm.jacobian(y.sum("a"), w), nm.hessian((y**2).sum(), x, new),
        nm.jacobian((y**2).sum(), y), nm.hessian((w * 2).sum(), w, {"a": "a2"}),
    ]  # fmt: skip
    assert [r.dims for r in results] == [
        ("a", "b", "a2", "b2"), ("b", "a"), ("a", "b", "a2", "b2"), ("a", "b"), ("a", "a2"),
    ]  # fmt: skip
    weights = np.array([2.0, -1.0])
    values = np.exp(X) * weights[:, None]
    expected = [np.diag(values.ravel()), np.exp(X).T, np.diag(4 * values.ravel() ** 2), 2 * values, np.zeros((2, 2))]
    for found, array in zip(function([x, w], results, mode="VM")(X, weights), expected, strict=True):
        np.testing.assert_allclose(found.reshape(array.shape), array)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: nm.jacobian(x * 2, x), "with a, b twice"),
        (lambda x: nm.hessian(x.sum(), x, {"a": "c"}), "with b twice"),
        (lambda x: nm.hessian(x, x), "without dimensions"),
        (lambda x: nm.jacobian(x.sum(), x.values), "named dimensions is needed"),
        (lambda x: nm.jacobian(x.sum(), x, {"q": "c"}), r"dims names \['q'\]"),
    ],
)
def test_derivatives_without_names_for_their_dimensions_are_refused(call: Any, text: str) -> None:
    with pytest.raises(TreadleError, match=text):
        call(nm.xtensor("x", dims=("a", "b")))
