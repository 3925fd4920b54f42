"""Derivatives of loops to third order, against finite differences and JAX."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import scan, until

# A model is a cost as a function of a vector of parameters, once in treadle and once in JAX, and where to look at it.
Model = tuple[Callable[[Any], Any], Callable[[Any, Any, Any], Any], list[float]]
RETURNS = np.array([0.3, -0.5, 0.2, 0.9, -0.1, 0.4])
ROWS = np.array([[0.3, -0.2], [0.1, 0.5], [-0.4, 0.2]])


def rnn(p: Any) -> Any:
    w = p.reshape((2, 2))
    states = scan(lambda x, h: tt.tanh(h @ w + x), ROWS, np.array([0.1, -0.1]), return_updates=False)
    return (states**2).sum()


def rnn_in_jax(jax: Any, jnp: Any, p: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(h @ p.reshape(2, 2) + x)
        return h, h

    return (jax.lax.scan(step, jnp.array([0.1, -0.1]), ROWS)[1] ** 2).sum()


def garch(p: Any) -> Any:
    variances = scan(lambda r, h: p[0] + p[1] * r**2 + p[2] * h, RETURNS, 0.2, return_updates=False)
    return (tt.log(variances) + RETURNS**2 / variances).sum()


def garch_in_jax(jax: Any, jnp: Any, p: Any) -> Any:
    def step(h: Any, r: Any) -> Any:
        h = p[0] + p[1] * r**2 + p[2] * h
        return h, h

    variances = jax.lax.scan(step, 0.2, RETURNS)[1]
    return (jnp.log(variances) + RETURNS**2 / variances).sum()


def ar2(p: Any) -> Any:
    start = tt.stack([p[2], 0.5 * p[2]])
    states = scan(
        lambda e, old, new: tt.sin(p[0] * old + p[1] * new) + e, RETURNS, {"initial": start, "taps": [-2, -1]},
        return_updates=False,
    )  # fmt: skip
    return (states**3).sum()


def ar2_in_jax(jax: Any, jnp: Any, p: Any) -> Any:
    def step(state: Any, e: Any) -> Any:
        old, new = state
        y = jnp.sin(p[0] * old + p[1] * new) + e
        return (new, y), y

    return (jax.lax.scan(step, (p[2], 0.5 * p[2]), RETURNS)[1] ** 3).sum()


def _pendulum(f: Any, y: Any, v: Any, h: float = 0.2) -> Any:
    a, b = v, f(y)
    c, d = v + h / 2 * b, f(y + h / 2 * a)
    e, g = v + h / 2 * d, f(y + h / 2 * c)
    k, m = v + h * g, f(y + h * e)
    return y + h / 6 * (a + 2 * c + 2 * e + k), v + h / 6 * (b + 2 * d + 2 * g + m)


def ode(p: Any) -> Any:
    y, v = tt.fori_loop(0, 5, lambda _, s: _pendulum(lambda y: -p[0] * tt.sin(y), *s), (p[1], p[2]))
    return y * v + y**2


def ode_in_jax(jax: Any, jnp: Any, p: Any) -> Any:
    def step(s: Any, _: Any) -> Any:
        return _pendulum(lambda y: -p[0] * jnp.sin(y), *s), None

    y, v = jax.lax.scan(step, (p[1], p[2]), None, 5)[0]
    return y * v + y**2


def power(p: Any) -> Any:
    return tt.while_loop(lambda s: s < 30, lambda s: s * tt.exp(p[0]) + p[1], p[2])


def power_in_jax(jax: Any, jnp: Any, p: Any) -> Any:
    del jax
    s = p[2]
    while s < 30:
        s = s * jnp.exp(p[0]) + p[1]
    return s


def nested(p: Any) -> Any:
    def outer(row: Any, h: Any) -> Any:
        last = scan(lambda x, c: tt.sin(c * p[0] + x * h), row, h * p[1], return_updates=False)[-1]
        return last + p[2] * h

    return (scan(outer, ROWS, 0.4, return_updates=False) ** 2).sum()


def nested_in_jax(jax: Any, jnp: Any, p: Any) -> Any:
    def outer(h: Any, row: Any) -> Any:
        def inner(c: Any, x: Any) -> Any:
            return jnp.sin(c * p[0] + x * h), None

        h = jax.lax.scan(inner, h * p[1], row)[0] + p[2] * h
        return h, h

    return (jax.lax.scan(outer, 0.4, ROWS)[1] ** 2).sum()


def ended(p: Any) -> Any:
    states = scan(
        lambda h: (tt.sin(p[0] * h) + p[1], until(h < p[2])), outputs_info=2.0, n_steps=50, return_updates=False
    )  # fmt: skip
    return (states**2).sum()


def ended_in_jax(jax: Any, jnp: Any, p: Any) -> Any:
    del jax
    h, total = 2.0, 0.0
    for _ in range(50):
        ends = h < p[2]
        h = jnp.sin(p[0] * h) + p[1]
        total = total + h**2
        if ends:
            break
    return total


MODELS: dict[str, Model] = {
    "rnn": (rnn, rnn_in_jax, [0.5, -0.3, 0.2, 0.4]),
    "garch": (garch, garch_in_jax, [0.1, 0.2, 0.6]),
    "ar2": (ar2, ar2_in_jax, [0.6, -0.4, 0.7]),
    "ode": (ode, ode_in_jax, [1.3, 0.8, -0.2]),
    "power": (power, power_in_jax, [0.3, 0.2, 1.5]),
    "nested": (nested, nested_in_jax, [0.6, 0.9, -0.3]),
    "until": (ended, ended_in_jax, [0.7, 0.1, 0.5]),
}


def derivatives(cost: Callable[[Any], Any], at: list[float]) -> Callable[[Any], Any]:
    """Return a function of a step t, whose values are derivatives of orders 0 to 3 along a direction."""
    t = tt.dscalar("t")
    orders = [cost(np.array(at) + t * direction(at))]
    for _ in range(3):
        orders.append(tt.grad(orders[-1], t))
    return function([t], orders, mode="VM")


def direction(at: list[float]) -> np.ndarray:
    return np.array([0.7, -0.5, 0.6, 0.8])[: len(at)]


@pytest.mark.parametrize("name", MODELS)
def test_third_derivatives_are_those_of_finite_differences(name: str) -> None:
    cost, _, at = MODELS[name]
    run, h = derivatives(cost, at), 1e-4
    exact = run(0.0)
    for order in range(1, 4):
        wanted = (run(h)[order - 1] - run(-h)[order - 1]) / (2 * h)
        np.testing.assert_allclose(exact[order], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_third_derivatives_are_those_of_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    cost, theirs, at = MODELS[name]
    exact = derivatives(cost, at)(0.0)
    with jax.enable_x64(True):

        def along(t: Any) -> Any:
            return theirs(jax, jax.numpy, jax.numpy.array(at) + t * direction(at))

        wanted: Any = along
        for order in range(4):
            np.testing.assert_allclose(exact[order], wanted(0.0), rtol=1e-10, atol=1e-12)
            wanted = jax.grad(wanted)
