"""JAX's derivatives of ``f.jax_function``, through loops, choices and searches, are those of finite differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import linalg, optimize

if TYPE_CHECKING:
    from collections.abc import Callable

VALUE = np.array([0.3, 0.7, 1.2])
FIRST = np.array([0.5, 0.25, 0.125])


def steps(fn: Callable[..., Any], **options: Any) -> Any:
    return tt.scan(fn, return_updates=False, **options)


def nested(x: Any, y: Any) -> Any:
    def outer(a: Any) -> Any:
        return steps(lambda b, c: c * b + a, sequences=[x], outputs_info=[a])[-1]

    return steps(outer, sequences=[x]).sum() + y[0]


def matrices(x: Any, y: Any) -> Any:
    definite = tt.outer(x, x) + tt.eye(3) * (2 + x)
    return linalg.solve(definite, x + y).sum() + tt.log(linalg.det(definite))


EVERY_WAY: dict[str, Callable[[Any, Any], Any]] = {
    "carry": lambda x, y: steps(lambda a, c: c * tt.sin(a) + a, sequences=[x], outputs_info=[y[0]])[-1],
    "taps": lambda x, y: steps(
        lambda a, p, q: a * p + 0.5 * q, sequences=[x], outputs_info=[{"initial": y[:2], "taps": [-1, -2]}]
    ).sum(),
    "number of steps": lambda x, _: steps(lambda c: tt.tanh(c) + x.sum() / 8, outputs_info=[x], n_steps=5)[-1].sum(),
    "nested": nested,
    "fori": lambda x, y: tt.fori_loop(0, 6, lambda i, c: tt.sin(c) + x[1] * i, x[0] * y[0]),
    "choice": lambda x, y: tt.ifelse(x[0] > y[0], tt.exp(x).sum(), (x**3).sum()),
    "matrices": matrices,
    "sorted": lambda x, y: (tt.cumsum(tt.sort(x**2)) * y).sum() + tt.max(x),
    "part": lambda x, y: (tt.inc_subtensor(x[1:], (x * y)[:-1] ** 2) ** 2).sum(),
}
# JAX has no reverse mode for loops that a condition ends.
FORWARD: dict[str, Callable[[Any, Any], Any]] = {
    "until": lambda x, _: steps(
        lambda c, v: (c * v.sum(), tt.until(c > 5.0)), outputs_info=[x[0]], non_sequences=[x], n_steps=20
    )[-1],
    "while": lambda x, _: tt.while_loop(lambda c: c[0] < 10, lambda c: (c[0] * 1.5 + c[1], c[1]), (x[0] + 1, x[1]))[0],
    "root": lambda x, y: (optimize.root(y**3 + y * x - x.sum(), y)[0] * x).sum(),
    "minimum": lambda x, y: (optimize.minimize(((y - x) ** 2).sum() + (y**4).sum() / 8, y)[0] * x).sum(),
}


@pytest.mark.parametrize("name", [*EVERY_WAY, *FORWARD])
def test_derivatives_are_those_of_finite_differences(name: str) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    result = (EVERY_WAY | FORWARD)[name](x, y)
    compiled: Any = function([x, y], result, mode="JAX", on_unused_input="ignore")
    traced, h = compiled.jax_function, 1e-5
    expected = [float(compiled(VALUE + h * d, FIRST) - compiled(VALUE - h * d, FIRST)) / (2 * h) for d in np.eye(3)]

    def density(at: Any) -> Any:
        return traced(at, FIRST)[0]

    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(jax.jacfwd(density))(VALUE), expected, rtol=1e-5, atol=1e-6)
        if name in EVERY_WAY:
            np.testing.assert_allclose(jax.jit(jax.grad(density))(VALUE), expected, rtol=1e-5, atol=1e-6)
        else:
            with pytest.raises(ValueError, match="Reverse-mode"):
                jax.grad(density)(VALUE)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", ["constant", "known when called", "product"])
def test_parts_are_differentiated_over_batches_outside_of_64_bit_mode(name: str, wide: bool) -> None:
    x, i = tt.fvector("x"), tt.lscalar("i")
    cost = {
        "constant": (tt.set_subtensor(x[1:3], x[:2] ** 2) ** 3).sum(),
        "known when called": (x[i : i + 2] ** 3).sum() + x[i] * tt.inc_subtensor(x[i], x[0])[i] ** 2,
        "product": tt.cumprod(x).sum(),
    }[name]
    f: Any = function([x, i], cost, mode="JAX", on_unused_input="ignore")
    gradient = tt.grad(cost, x)
    own = function([x, i], [gradient, tt.jacobian(gradient, x)], mode="FAST_COMPILE", on_unused_input="ignore")
    value = np.array([0.75, -0.5, 1.25, 0.375], "float32")
    first, second = own(value, 1)

    def density(at: Any) -> Any:
        return f.jax_function(at, 1)[0]

    with jax.enable_x64(wide):
        batch = np.stack([value, value])
        np.testing.assert_allclose(jax.vmap(jax.grad(density))(batch), [first, first], rtol=1e-5)
        np.testing.assert_allclose(jax.jacrev(density)(value), first, rtol=1e-5)
        for derivative in (jax.hessian(density), jax.jacrev(jax.grad(density)), jax.jacfwd(jax.grad(density))):
            np.testing.assert_allclose(jax.jit(derivative)(value), second, rtol=1e-5)
