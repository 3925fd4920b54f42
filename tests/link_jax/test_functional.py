"""Graphs as functions of JAX arrays, under JAX's own transformations."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.graph import FunctionGraph, GraphTypeError, NodeTypeError, NodeValueError
from treadle.link.jax import jax_function


def test_a_graph_is_differentiated_mapped_and_compiled_by_jax() -> None:
    x, a = tt.dvector("x"), shared(2.0, name="a")
    density = jax_function(function([x], [-(x**2).sum() / a, x + a], mode="JAX").vm)
    with jax.enable_x64(True):
        value = jnp.array([1.0, 2.0])
        assert float(jax.jit(density)(value, 2.0)[0]) == -2.5
        np.testing.assert_array_equal(jax.grad(lambda x: density(x, 2.0)[0])(value), [-1.0, -2.0])
        np.testing.assert_array_equal(jax.vmap(density, (0, None))(jnp.ones((3, 2)), 1.0)[0], [-2.0, -2.0, -2.0])


def test_results_are_those_of_the_graphs_dtypes() -> None:
    x = tt.dvector("x")
    (result,) = jax_function(FunctionGraph([x], [x / 3]))(np.array([1, 2]))
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, [1 / 3, 2 / 3], rtol=1e-15)


def test_a_value_that_decides_a_shape_is_passed_from_outside() -> None:
    x, n = tt.dscalar("x"), tt.lscalar("n")
    rows = tt.scan(lambda s: s * x, outputs_info=[tt.ones((2,))], n_steps=n, return_updates=False)
    powers = jax_function(FunctionGraph([x, n], [rows]))
    assert jax.jit(powers, static_argnums=1)(0.5, 3)[0][:, 0].tolist() == [0.5, 0.25, 0.125]
    with pytest.raises(NodeTypeError, match=re.escape("a shape depends on the value of input n, which is traced")):
        jax.jit(powers)(0.5, 3)


def test_arguments_of_other_shapes_are_refused() -> None:
    x = tt.vector("x", shape=(3,), dtype="float64")
    run = jax_function(FunctionGraph([x], [x + 1]))
    with pytest.raises(NodeValueError, match=r"got an array of shape \(2,\)"):
        run(np.ones(2))
    with pytest.raises(GraphTypeError, match="1 inputs, got 2 arguments"):
        run(np.ones(3), 1.0)


def test_what_is_no_program_of_jax_is_refused() -> None:
    x = tt.dvector("x")
    with pytest.raises(GraphTypeError, match="compiled in mode JAX"):
        jax_function(function([x], x + 1, mode="VM").vm)
