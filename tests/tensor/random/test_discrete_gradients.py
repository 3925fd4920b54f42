"""Gradients through draws of discrete distributions, which have none, are refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle import scan as loops
from treadle.compile import function
from treadle.graph import vectorize_graph
from treadle.tensor import NullTypeGradError, OpFromGraph, random
from treadle.tensor.random import RandomStream, shared_rng

if TYPE_CHECKING:
    from collections.abc import Callable

S = RandomStream(3)
V = tt.dvector("v")
P = tt.sigmoid(V)
W = tt.softmax(V)
X = tt.dscalar("x")
DRAWS: dict[str, Any] = {
    "bernoulli": lambda: S.bernoulli(P),
    "binomial": lambda: S.binomial(5, P),
    "poisson": lambda: S.poisson(tt.exp(V)),
    "geometric": lambda: S.geometric(P),
    "negative_binomial": lambda: S.nbinom(3, P),
    "beta_binomial": lambda: S.betabinom(4, tt.exp(V), 1.0),
    "zipf": lambda: S.zipf(1 + tt.exp(V)),
    "logseries": lambda: S.logseries(P),
    "categorical": lambda: S.categorical(W),
    "multinomial": lambda: S.multinomial(5, W),
    "dirichlet_multinomial": lambda: S.dirichlet_multinomial(5, tt.exp(V)),
    "zero_inflated_poisson": lambda: S.zero_inflated_poisson(P, 2.0),
    "skellam": lambda: S.skellam(tt.exp(V), 1.0),
    "choice_without_replacement": lambda: S.choice(np.arange(3.0), p=W, replace=False, size=(2,)),
}


def loop(body: Callable[..., Any], **arguments: Any) -> Any:
    return loops.scan(body, return_updates=False, **arguments)


@pytest.mark.parametrize("name", DRAWS)
def test_gradient_through_a_discrete_draw_is_refused_by_name(name: str) -> None:
    cost = (DRAWS[name]().sum() * V).sum()
    with pytest.raises(
        NullTypeGradError, match=rf"(?s)a draw of {name} has.*discrete.*built at test_discrete.*disconnected_grad"
    ):
        tt.grad(cost, V)


def bernoulli_times(x: Any) -> Any:
    return S.bernoulli(P) * x


COSTS: dict[str, Callable[[], Any]] = {
    "cast": lambda: tt.cast(S.bernoulli(P), "float64") * V,
    "comparison": lambda: tt.switch(tt.eq(S.bernoulli(P), 1), V, 0),
    "float comparison": lambda: (S.poisson(tt.exp(V), dtype="float64") > 2) * V,
    "index": lambda: V[S.categorical(W)],
    "set": lambda: V[S.categorical(W)].set(2.0),
    "arange": lambda: tt.arange(S.poisson(tt.exp(V[0]))).sum() * V,
    "argmax": lambda: V[tt.argmax(S.multinomial(5, W))],
    "sort": lambda: tt.sort(S.poisson(tt.exp(V))) * V,
    "any": lambda: tt.any(S.bernoulli(P)) * V,
    "cumulated": lambda: tt.cumsum(S.bernoulli(P)) * V,
    "only path": lambda: S.bernoulli(P) * 1.0,
    "branch": lambda: tt.ifelse(tt.eq(S.bernoulli(P)[0], 1), V, 2 * V),
    "results of a loop": lambda: loop(lambda: S.bernoulli(P), n_steps=3) * V,
    "inside of a loop": lambda: loop(lambda: S.bernoulli(P) * V, n_steps=3),
    "rows of a loop": lambda: loop(S.bernoulli, sequences=[P]) * V,
    "count in a loop": lambda: loop(
        lambda n, y: [n + S.bernoulli(P[0]), y + n * V],
        outputs_info=[tt.constant(0), tt.zeros_like(V)],
        n_steps=3,
    )[1][-1],
    "draw from a carry": lambda: (
        loop(
            lambda y, _: [y * V[0], S.bernoulli(tt.sigmoid(y))],
            outputs_info=[tt.constant(1.0), tt.constant(0)],
            n_steps=3,
        )[1][-1]
        * V
    ),
}


@pytest.mark.parametrize("name", COSTS)
def test_gradient_is_refused_whatever_leads_from_draw_to_cost(name: str) -> None:
    cost = COSTS[name]().sum()
    with pytest.raises(NullTypeGradError, match="as it is discrete"):
        tt.grad(cost, V)
    with pytest.raises(NullTypeGradError, match="as it is discrete"):
        tt.pushforward(cost, V, V)


def test_op_of_a_graph_does_not_hide_a_draw() -> None:
    source = shared_rng(seed=4)
    generator, a = source.type(), tt.dvector("a")
    draw = random.bernoulli(tt.sigmoid(a), rng=generator)
    outside = OpFromGraph([generator, a], [draw])(source, V) * V
    inside = OpFromGraph([generator, a], [draw * a])(source, V)
    for cost in (outside.sum(), inside.sum()):
        with pytest.raises(NullTypeGradError, match="a draw of bernoulli"):
            tt.grad(cost, V)
        with pytest.raises(NullTypeGradError, match="a draw of bernoulli"):
            tt.pushforward(cost, V, V)


def test_a_gradient_that_the_user_gives_counts() -> None:
    source = shared_rng(seed=4)
    generator, a = source.type(), tt.dvector("a")
    draw = tt.cast(random.bernoulli(tt.sigmoid(a), rng=generator), "float64")
    straight = OpFromGraph([generator, a], [draw], pullback=lambda *arguments: [None, arguments[-1][0]])
    slope = tt.grad((straight(source, V) * 2).sum(), V)
    np.testing.assert_array_equal(function([V], slope, mode="VM")(np.zeros(2)), [2.0, 2.0])


@pytest.mark.parametrize("derivative", [
    lambda y: tt.jacobian(y, V),
    lambda y: tt.jacobian(y, V, forward=True),
    lambda y: tt.hessian((y * y).sum(), V),
    lambda y: tt.Rop(y, V, V),
    lambda y: tt.Lop(y, V, y),
    lambda y: tt.pushforward(y, V, V, use_op_pushforward=False),
    lambda y: tt.value_and_grad(y.sum(), V),
    lambda y: tt.grad(None, V, known_grads={y: tt.ones_like(V)}),
])  # fmt: skip
def test_every_derivative_is_refused(derivative: Callable[[Any], Any]) -> None:
    with pytest.raises(NullTypeGradError, match="a draw of bernoulli has no derivative by its parameter 'p'"):
        derivative(bernoulli_times(V))


def test_batches_of_a_draw_are_refused() -> None:
    rows = tt.dmatrix("rows")
    with pytest.raises(NullTypeGradError, match="a draw of bernoulli"):
        tt.grad(vectorize_graph(bernoulli_times(V), {V: rows}).sum(), rows)


def test_draws_taken_as_constants_have_the_gradient_of_the_rest() -> None:
    d = S.bernoulli(P)
    inside = loop(lambda: tt.disconnected_grad(S.bernoulli(P)) * V, n_steps=3).sum()
    slopes = [
        tt.grad((d * V).sum(), V, consider_constant=[d]),
        tt.grad((tt.disconnected_grad(d) * V).sum(), V),
        tt.grad((tt.zero_grad(d) * V).sum(), V),
        tt.grad((S.bernoulli(tt.disconnected_grad(P)) * V).sum(), V),
        tt.pushforward(tt.disconnected_grad(d) * V, V, tt.ones_like(V)),
    ]
    gradients = function([V], [*slopes, tt.grad(inside, V)], mode="VM")(np.array([40.0, -40.0]))
    for values in gradients[:-1]:
        np.testing.assert_array_equal(values, [1.0, 0.0])
    np.testing.assert_array_equal(gradients[-1], [3.0, 0.0])


def test_draws_that_do_not_matter_or_do_not_follow_the_variable_are_fine() -> None:
    d = S.bernoulli(P)
    following, _ = random.poisson(tt.exp(X), rng=shared_rng(seed=3), return_next_rng=True)
    costs = [
        (d.shape[0] * V).sum(),
        (tt.ones_like(d) * V).sum(),
        (S.bernoulli(0.3, size=(2,)) * V + V).sum(),
        (tt.assert_op(V, tt.all(d >= 0))).sum(),
        ((S.normal(V) > 0) * V).sum(),
        loop(lambda: [S.bernoulli(P), V * V], n_steps=3)[1].sum(),
    ]
    for cost in costs:
        assert tt.grad(cost, V).type == V.type
    assert tt.grad(random.normal(rng=following) * X, X).type == X.type


def test_seed_in_place_of_a_generator_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"shared_rng: .* got 3\. Pass a seed by name: shared_rng\(seed="):
        shared_rng(3)  # type: ignore[arg-type]  # refused
