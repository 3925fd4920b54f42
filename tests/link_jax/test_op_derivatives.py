"""JAX differentiates whole ops of ``f.jax_function`` as treadle does, in both modes and under its transformations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import FunctionGraph
from treadle.link.jax import jax_function
from treadle.tensor import linalg, optimize

if TYPE_CHECKING:
    from collections.abc import Callable

    Build = Callable[[Any], Any]

SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]])
SKEWED = np.array([[4.0, 9.0, 9.0], [1.0, 5.0, 9.0], [0.5, 1.0, 3.0]])
TIED = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 2.0]])
EXPRESSIONS: dict[str, tuple[Build, np.ndarray]] = {
    "expm": (linalg.expm, SKEWED / 9),
    "expm at zeros": (linalg.expm, np.zeros((3, 3))),
    "det of a singular matrix": (linalg.det, SINGULAR),
    "det of zeros": (linalg.det, np.zeros((3, 3))),
    "a triangle": (linalg.cholesky, SKEWED),
    "all singular vectors": (lambda x: linalg.svd(x[:2], full_matrices=True)[1], SKEWED),
    "greatest": (lambda x: tt.max(x, axis=1), TIED),
    "product": (lambda x: tt.prod(x, axis=0), TIED),
    "products": (lambda x: tt.cumprod(x, axis=0), TIED),
    "sorted": (lambda x: tt.sort(x, axis=1), TIED),
    "pseudoinverse": (linalg.pinv, SKEWED),
}


def slopes(build: Build, weights: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return treadle's gradient of a weighted sum, and its derivative along the weights of the arguments."""
    x, u = tt.dmatrices("x", "u")
    result = build(x)
    gradient = tt.grad((result * weights).sum(), x)
    values = function([x, u], [gradient, tt.pushforward(result, x, u)], mode="VM")(at, np.cos(at + 1))
    return values[0], values[1]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_both_modes_are_treadles(name: str) -> None:
    build, at = EXPRESSIONS[name]
    x = tt.dmatrix("x")
    compiled: Any = function([x], build(x), mode="JAX")
    traced = compiled.jax_function
    with jax.enable_x64(True):
        weights = np.cos(np.arange(traced(at)[0].size)).reshape(traced(at)[0].shape)
        gradient = jax.jit(jax.grad(lambda x: (traced(x)[0] * weights).sum()))(at)
        moved = jax.jit(lambda x, u: jax.jvp(lambda x: traced(x)[0], (x,), (u,))[1])(at, np.cos(at + 1))
    expected = slopes(build, weights, at)
    np.testing.assert_allclose(gradient, expected[0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(moved, expected[1], rtol=1e-9, atol=1e-11)


def test_derivatives_are_right_in_every_transformation() -> None:
    x = tt.dmatrix("x")
    cost = (tt.special.softmax(x, axis=1) * tt.prod(x, axis=0)).sum() * x[0, 1]
    at = SKEWED[:2, :2] / 9
    gradient = tt.grad(cost, x)
    first, second = function([x], [gradient, tt.jacobian(gradient, x)], mode="VM")(at)
    traced = jax_function(FunctionGraph([x], [cost]))

    def total(x: Any) -> Any:
        return traced(x)[0]

    with jax.enable_x64(True):
        for twice in (jax.hessian(total), jax.jacrev(jax.grad(total)), jax.jacfwd(jax.jacfwd(total))):
            np.testing.assert_allclose(jax.jit(twice)(at), second, rtol=1e-8, atol=1e-10)
        rows = np.stack([at, at.T, at + np.eye(2)])
        slope = function([x], gradient, mode="VM")
        each = [slope(row) for row in rows]
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(total)))(rows), each, rtol=1e-9)
        np.testing.assert_allclose(jax.jit(jax.grad(lambda rows: jax.vmap(total)(rows).sum()))(rows), each, rtol=1e-9)
        along = jax.jit(jax.vmap(lambda u: jax.jvp(total, (at,), (u,))[1]))(rows)
        np.testing.assert_allclose(along, (rows * first).sum((1, 2)), rtol=1e-9)
        step = jax.checkpoint(lambda carry, row: (carry + total(row * carry), None))
        looped = jax.jit(jax.grad(lambda rows: jax.lax.scan(step, 0.5, rows)[0]))(rows)
        h = 1e-6 * np.cos(rows)
        ends = [jax.lax.scan(step, 0.5, rows + sign * h)[0] for sign in (1, -1)]
        np.testing.assert_allclose((looped * h).sum(), (ends[0] - ends[1]) / 2, rtol=1e-6)


def test_a_gradient_by_complex_numbers_is_the_conjugate_of_treadles() -> None:
    z = tt.zmatrix("z")
    cost = abs(linalg.expm(z) @ z).sum()
    at = (SKEWED + 1j * TIED) / 9
    traced = jax_function(FunctionGraph([z], [cost]))
    expected = function([z], tt.grad(cost, z), mode="VM")(at)
    with jax.enable_x64(True):
        found = jax.grad(lambda z: traced(z)[0])(at)
    np.testing.assert_allclose(np.conj(found), expected, rtol=1e-9)


def test_derivatives_that_were_given_are_jaxs_too() -> None:
    x, y = tt.dscalars("x", "y")
    given = tt.OpFromGraph([x, y], [x * y], pullback=lambda xs, _, gs: [gs[0] * 7, gs[0] * xs[0]])
    result = given(x, y) + tt.grad_clip(x**3, -1, 1)
    traced = jax_function(FunctionGraph([x, y], [result]))
    with jax.enable_x64(True):
        found = jax.grad(lambda x, y: traced(x, y)[0], (0, 1))(2.0, 3.0)
        moved = jax.jvp(lambda x, y: traced(x, y)[0], (2.0, 3.0), (1.0, 0.0))[1]
    expected = function([x, y], tt.grad(result, [x, y]), mode="VM")(2.0, 3.0)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(moved, found[0])


def test_roots_have_a_reverse_mode() -> None:
    x, y = tt.dvectors("x", "y")
    result = (optimize.root(y**3 + y * x - x.sum(), y)[0] * x).sum()
    traced = jax_function(FunctionGraph([x, y], [result]))
    at = np.array([0.3, 0.7, 1.2])
    expected = function([x, y], tt.grad(result, x), mode="VM")(at, np.ones(3))
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(lambda x: traced(x, np.ones(3))[0])(at), expected, rtol=1e-7)


def test_values_that_decide_shapes_stay_known() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    traced = jax_function(FunctionGraph([x, n], [(tt.repeat(x, n) ** 2).max(), tt.argmax(x)]))
    with jax.enable_x64(True):
        found = jax.jit(jax.grad(lambda x, n: traced(x, n)[0]), static_argnums=1)(np.array([1.0, 3.0]), 2)
    np.testing.assert_allclose(found, function([x, n], tt.grad((tt.repeat(x, n) ** 2).max(), x), mode="VM")([1, 3], 2))


def test_bodies_of_loops_have_treadles_derivatives() -> None:
    x = tt.dmatrix("x")
    last = tt.scan(lambda c: linalg.expm(c) / 4, outputs_info=[x], n_steps=2, return_updates=False)[-1]
    traced = jax_function(FunctionGraph([x], [last.sum()]))
    expected = function([x], tt.grad(last.sum(), x), mode="VM")(SKEWED / 9)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(jax.grad(lambda x: traced(x)[0]))(SKEWED / 9), expected, rtol=1e-9)


def test_equal_functions_have_the_derivatives_of_their_ops_as_well() -> None:
    for size in (2, 3):
        x = tt.dmatrix("x")
        f: Any = function([x], linalg.expm(x).sum(), mode="JAX")
        # Of a shape that was not met before, so that the second function traces the graph of its own.
        np.testing.assert_allclose(f(np.zeros((size, size))), size)
        with jax.enable_x64(True):
            found = jax.grad(lambda x, f=f: f.jax_function(x)[0])(np.zeros((2, 2)))
        np.testing.assert_allclose(found, np.ones((2, 2)))


def test_compiled_calls_are_told_no_derivatives() -> None:
    x = tt.dmatrix("x")
    f: Any = function([x], [linalg.det(x), tt.max(x)], mode="JAX")
    with jax.enable_x64(True):
        compiled = str(jax.make_jaxpr(f.vm.staged.traceable({}, []))(np.eye(3)))
        traced = str(jax.make_jaxpr(f.jax_function)(np.eye(3)))
    assert "custom_jvp" not in compiled
    assert traced.count("custom_jvp_call[") >= 2
