"""Graphs as functions of JAX arrays, under JAX's own transformations."""

import copy
import os
import pickle
import re
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.graph import FunctionGraph, GraphTypeError, NodeTypeError, NodeValueError
from treadle.link.jax import jax_function
from treadle.tensor.random import PortableGenerator, RandomStream


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
    with pytest.raises(GraphTypeError, match=r"1 inputs, .* got 2 arguments\. Pass one for each of \(x: Vector"):
        run(np.ones(3), 1.0)


def test_what_is_no_program_of_jax_is_refused() -> None:
    x = tt.dvector("x")
    with pytest.raises(GraphTypeError, match="compiled in mode JAX"):
        jax_function(function([x], x + 1, mode="VM").vm)


def test_a_function_has_a_jax_function_whose_shared_values_are_arguments() -> None:
    x, a = tt.dvector("x"), shared(2.0, name="a")
    f: Any = function([x], -(x**2).sum() / a, updates={a: a + 1}, mode="JAX")
    density = f.jax_function
    assert f.jax_function is density
    with jax.enable_x64(True):
        value = jnp.array([1.0, 2.0])
        result, new = jax.jit(density)(value, 5.0)
        assert (float(result), float(new), float(a.get_value())) == (-1, 6, 2)
        np.testing.assert_array_equal(jax.grad(lambda a: density(value, a)[0])(5.0), 0.2)
    other: Any = function([x], x + 1, mode="VM")
    with pytest.raises(AttributeError, match=r"have no jax_function\. Compile it in mode JAX"):
        _ = other.jax_function


def test_draws_take_and_return_the_states_of_portable_generators() -> None:
    stream, x = RandomStream(seed=3, generator="portable"), tt.dvector("x")
    f: Any = function([x], [x + stream.normal(size=(3,)), stream.uniform(size=(2,))], mode="JAX")
    run, states = f.jax_function, [v.get_value().state for v in f.get_shared()]
    with jax.enable_x64(True):
        step = jax.jit(run)
        for _ in range(3):
            *values, first, second = step(np.zeros(3), *states)
            for value, expected in zip(values, f(np.zeros(3)), strict=True):
                np.testing.assert_allclose(value, expected, rtol=1e-12)
            states = [first, second]
            np.testing.assert_array_equal(states, [v.get_value().state for v in f.get_shared()])
        rows = jax.vmap(lambda state: run(np.zeros(3), state, second)[0])(
            np.stack([PortableGenerator(seed).state for seed in range(4)])
        )
        assert len({float(row[0]) for row in rows}) == 4
        np.testing.assert_array_equal(jax.grad(lambda x: run(x, *states)[0].sum())(np.zeros(3)), np.ones(3))
    with pytest.raises(NodeTypeError, match=r"got PortableGenerator\(.*of a generator, its state"):
        run(np.zeros(3), PortableGenerator(1), second)


@pytest.mark.filterwarnings("ignore::treadle.tensor.random.RandomStreamWarning")
def test_draws_of_generators_of_numpys_are_those_of_keys_from_a_portable_state() -> None:
    stream = RandomStream(seed=3, generator="numpy")
    run = function([], stream.normal(size=(3,)), mode="JAX").jax_function  # type: ignore[attr-defined]  # of its backend
    state = PortableGenerator(1).state
    draw, after = run(state)
    again, later = jax.jit(run)(after)
    assert len({*map(float, draw), *map(float, again)}) == 6
    assert state[2] < np.asarray(after)[2] < np.asarray(later)[2]


def test_it_pickles_with_its_graph() -> None:
    x, a = tt.dvector("x"), shared(2.0, name="a")
    f: Any = function([x], (x**2).sum() / a, updates={a: a + 1}, mode="JAX")
    loaded = pickle.loads(pickle.dumps(f.jax_function))
    with jax.enable_x64(True):
        value, new = jax.jit(loaded)(np.array([1.0, 3.0]), 2.0)
        assert (float(value), float(new)) == (5, 3)
        np.testing.assert_array_equal(jax.grad(lambda x: copy.copy(loaded)(x, 2.0)[0])(np.array([1.0, 3.0])), [1, 3])


# One process, with eight virtual devices of the CPU.
_SHARDED = """
import jax, jax.numpy as jnp, numpy as np
import treadle.tensor as tt
from functools import partial
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from treadle.compile import function, shared

jax.config.update("jax_enable_x64", True)
assert len(jax.devices()) == 8
mesh = Mesh(np.array(jax.devices()), ("data",))
x, w = tt.dmatrix("x"), shared(np.arange(3.0), name="w")
loss = ((x @ w) ** 2).sum()
f = function([x], loss, updates={w: w - 0.1 * tt.grad(loss, w)}, mode="JAX")
values = np.arange(48.0).reshape(16, 3) / 48
split, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
step = jax.jit(f.jax_function, out_shardings=(whole, whole))
total, new = step(jax.device_put(values, split), jax.device_put(np.arange(3.0), whole))
parts = jax.shard_map(
    lambda x, w: jax.lax.psum(f.jax_function(x, w)[0], "data"), mesh=mesh, in_specs=(P("data"), P()), out_specs=P()
)
in_parts = jax.jit(parts)(values, np.arange(3.0))
# State that is split over its features.
features = jax.device_put(np.arange(8.0), split)
y, v = tt.dvector("y"), shared(np.arange(8.0), name="v")
g = function([y], (y * v).sum(), updates={v: v + y}, mode="JAX")
dot, moved = jax.jit(g.jax_function)(jax.device_put(np.ones(8), split), features)
assert len(moved.sharding.device_set) == len(new.sharding.device_set) == 8
assert float(dot) == 28 and moved.tolist() == list(range(1, 9))
expected = float(f(values))
np.testing.assert_allclose([float(total), float(in_parts)], expected, rtol=1e-12)
np.testing.assert_allclose(new, w.get_value(), rtol=1e-12)
print("equal")
"""


def test_inputs_and_state_are_sharded_over_a_mesh() -> None:
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SHARDED],
        capture_output=True, text=True, timeout=120, check=False, env=environment,
    )  # fmt: skip
    assert done.stdout.strip() == "equal", done.stderr


@pytest.mark.parametrize("name", ["betainc", "betaincinv", "gammaincinv", "gammainccinv", "gammainc", "erfinv"])
def test_jax_differentiates_special_functions_as_treadle_does(name: str) -> None:
    operation = getattr(tt, name)
    operands = tt.dvectors("a", "b", "p")[: {"betainc": 3, "betaincinv": 3, "erfinv": 1}.get(name, 2)]
    slopes = tt.grad(operation(*operands).sum(), operands)
    values = [np.array([1.5, 2.25]), np.array([3.0, 0.5]), np.array([0.25, 0.75])][: len(operands) - 1]
    values.append(np.array([0.3, 0.8]))
    expected = function(operands, slopes, mode="VM")(*values)
    compiled: Any = function(operands, operation(*operands).sum(), mode="JAX")
    compiled = compiled.jax_function
    with jax.enable_x64(True):
        found = jax.jit(jax.grad(lambda *xs: compiled(*xs)[0], tuple(range(len(values)))))(*values)
    for result, slope in zip(found, expected, strict=True):
        np.testing.assert_allclose(result, slope, rtol=1e-10)


# Functions that JAX would differentiate as they are computed, and wrongly at some of these points or at all.
_OF_ONE = ("abs", "erfinv", "exprel", "i0", "log_expit", "ndtri_exp", "sigmoid", "softplus", "tri_gamma")
_OF_TWO = (
    "betaln", "copysign", "fmax", "fmod", "hypot", "jv", "logaddexp", "mod", "owens_t", "power", "rel_entr", "xlogy",
)  # fmt: skip


@pytest.mark.parametrize("name", _OF_ONE + _OF_TWO)
def test_jax_differentiates_as_treadle_does_at_zero_and_where_operands_are_equal(name: str) -> None:
    points = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0])
    count = 1 if name in _OF_ONE else 2
    operands = tt.dvectors("x", "y")[:count]
    result = getattr(tt, name)(*operands)
    values = [points] if count == 1 else [np.repeat(points, 8), np.tile(points, 8)]
    expected = function(operands, tt.grad(result.sum(), operands), mode="VM")(*values)
    compiled = jax_function(FunctionGraph(operands, [result]))
    with jax.enable_x64(True):
        found = jax.grad(lambda *xs: compiled(*xs)[0].sum(), tuple(range(count)))(*values)
    for slope, wanted in zip(found, expected, strict=True):
        defined = np.isfinite(wanted)
        np.testing.assert_allclose(slope[defined], wanted[defined], rtol=1e-7, atol=1e-12)


LOADED = """
import jax, numpy as np
import treadle.tensor as tt
from treadle.graph import FunctionGraph
from treadle.link.jax import JAX, jax_function
JAX.load()
v, x = tt.dvectors("v", "x")
compiled = jax_function(FunctionGraph([v, x], [tt.jv(v, x)]))
with jax.enable_x64(True):
    slope = jax.grad(lambda x: compiled(np.array([-1.0, 1.0]), x)[0].sum())(np.zeros(2))
assert slope.tolist() == [-0.5, 0.5], slope
"""


def test_derivatives_of_functions_that_are_imported_after_the_backend_are_treadles() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_derivatives_are_treadles_in_every_order_and_transformation() -> None:
    x, y = tt.dvectors("x", "y")
    result = tt.logaddexp(x, y) * tt.softplus(x)
    at = np.array([-0.5, 0.0, 2.0])
    second = tt.hessian(result.sum(), x)
    expected = function([x, y], second, mode="VM")(at, at)
    compiled = jax_function(FunctionGraph([x, y], [result]))
    with jax.enable_x64(True):
        total = lambda x, y: compiled(x, y)[0].sum()  # noqa: E731 - a function of JAX's arrays
        np.testing.assert_allclose(jax.jit(jax.hessian(total))(at, at), expected, rtol=1e-10)
        np.testing.assert_allclose(jax.jacfwd(jax.jacrev(total))(at, at), expected, rtol=1e-10)
        rows = jax.vmap(jax.grad(total))(np.stack([at, at + 1]), np.stack([at, at]))
    np.testing.assert_allclose(rows[0], function([x, y], tt.grad(result.sum(), x), mode="VM")(at, at), rtol=1e-10)


@pytest.mark.parametrize("by_name", [False, True])
def test_the_function_itself_is_refused_where_jax_traces(by_name: bool) -> None:
    x = tt.dvector("x")
    f: Any = function([x], tt.exp(x).sum(), mode="JAX")
    for transform in (jax.jit, jax.grad, jax.vmap):
        with pytest.raises(NodeTypeError, match=r"being traced by JAX .* its attribute jax_function"):
            transform(lambda v: f(x=v) if by_name else f(v))(np.ones((1, 2)))


def test_arguments_are_not_converted_to_numbers_that_lack_a_part() -> None:
    for kind, value in (("float64", 1j), ("int64", 1.5), ("bool", 2)):
        x = tt.tensor("x", dtype=kind, shape=(None,))
        run = jax_function(FunctionGraph([x], [x]))
        with pytest.raises(NodeTypeError, match=r"input x is of type .* of which a part would be lost"):
            run(np.array([value]))
    wide = jax_function(FunctionGraph([z := tt.zvector("z")], [z * 2]))
    for values in (
        np.array([True, False]),
        np.arange(2),
        np.arange(2.0, dtype="float32"),
        jnp.arange(2, dtype="bfloat16"),
    ):
        assert wide(values)[0].dtype == "complex128"
