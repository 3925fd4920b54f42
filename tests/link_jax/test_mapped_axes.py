"""Functions inside of `jax.shard_map` and `jax.pmap`: values and derivatives are those of one device."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Each sums up a function of rows over eight devices.
_PROGRAM = """
import sys
from functools import partial
import jax, numpy as np
from jax.sharding import PartitionSpec as P
import treadle.tensor as tt
from treadle.compile import function

jax.config.update("jax_enable_x64", True)
x, a = tt.dmatrix("x"), tt.dtensor3("a")
name = sys.argv[1]
var, out = {
    "cholesky": (a, tt.log(tt.diagonal(tt.linalg.cholesky(a), 0, -2, -1)).sum()),
    "determinant": (a, tt.log(tt.linalg.det(a)).sum()),
    "system": (a, tt.linalg.solve(a, tt.ones((4, 1))).sum()),
    "elements": (x, (tt.softplus(x) * tt.softmax(x, axis=1) + x.max(axis=1, keepdims=True)).sum()),
    "loop": (x, (tt.scan(lambda r, s: 0.9 * s + tt.tanh(r), sequences=[x], outputs_info=[tt.zeros(4)])[0] ** 2).sum()),
    "while loop": (x, tt.while_loop(lambda s: s.sum() < 100, lambda s: 2 * s, x**2 + 0.1).sum()),
    "choice": (x, tt.ifelse(x.sum() > 0, (x**2).sum(), tt.constant(3.0))),
}[name]
f = function([var], out, mode="JAX").jax_function
rng = np.random.default_rng(0)
value = rng.normal(size=(16, 4) if var is x else (8, 4, 4))
if var is a:
    value = value @ value.mT + 3 * np.eye(4)
mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
rows = len(value) // 8

@jax.jit
def here(x, w=1.0):
    return jax.lax.map(lambda part: f(part * w)[0], x.reshape(8, rows, *x.shape[1:])).sum()

def total(x, w=1.0):
    return jax.lax.psum(f(x * w)[0], "i")

def mapped(run, *specs):
    return jax.jit(jax.shard_map(run, mesh=mesh, in_specs=specs[:-1], out_specs=specs[-1]))

def equal(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

split, whole, one = P("i"), P(), np.ones(())
equal(mapped(total, split, whole)(value), here(value))
moved = jax.jit(lambda x: jax.jvp(here, (x,), (x,))[1])(value)
equal(mapped(lambda x: jax.jvp(total, (x,), (x,))[1], split, whole)(value), moved)
if name != "while loop":  # whose reverse mode JAX has not
    slope, by_weight = jax.jit(jax.grad(here, (0, 1)))(value, one)
    equal(mapped(jax.grad(lambda x: f(x)[0]), split, split)(value), slope)
    equal(jax.jit(jax.grad(mapped(total, split, whole)))(value), slope)
    # What is the same on all devices gets the sum of their gradients.
    equal(mapped(jax.grad(total, 1), split, whole, whole)(value, one), by_weight)
    equal(mapped(jax.grad(lambda x, w: f(x * w)[0], 1), split, whole, whole)(value, one), by_weight)
    twice = lambda x: jax.lax.psum(jax.vmap(jax.grad(lambda x: f(x)[0]))(jax.numpy.stack([x, x])).sum(), "i")
    equal(mapped(twice, split, whole)(value), 2 * slope.sum())
    each = jax.pmap(jax.grad(lambda x: f(x)[0]))(value.reshape(8, rows, *value.shape[1:]))
    equal(each.reshape(slope.shape), slope)
print("equal")
"""


# Each sums up what decompositions of a matrix per device are, times numbers that no element shares.
_DECOMPOSITIONS = """
import sys
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import PartitionSpec as P
import treadle.tensor as tt
from treadle.compile import function

jax.config.update("jax_enable_x64", True)
a = tt.dmatrix("a")
linalg = tt.linalg
cases = {
    "expm": [linalg.expm(a)],
    "sqrtm": [linalg.sqrtm(a)],
    "svd": [abs(x) for x in linalg.svd(a)],
    "qr": [abs(x) for x in linalg.qr(a)],
    "eigh": [abs(x) for x in linalg.eigh(a)],
    "lu": list(linalg.lu(a)[1:]),
    "cholesky": [linalg.cholesky(a)],
}
values = np.random.default_rng(0).normal(size=(8, 4, 4))
values = values @ values.mT + 3 * np.eye(4)
mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
split = P("i")
for name, outputs in cases.items():
    f = function([a], outputs, mode="JAX").jax_function

    def total(x):
        return sum((r.real * jnp.arange(1.0, r.size + 1).reshape(r.shape)).sum() for r in f(x))

    run = jax.value_and_grad(total)
    one = lambda x: jax.tree.map(lambda r: r[None], run(x[0]))
    mapped = jax.shard_map(one, mesh=mesh, in_specs=split, out_specs=split)
    for found, expected in zip(jax.jit(mapped)(values), jax.jit(lambda x: jax.lax.map(run, x))(values)):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10, err_msg=name)
    print(name)
"""


@pytest.mark.parametrize("name", ["cholesky", "determinant", "system", "elements", "loop", "while loop", "choice"])
def test_functions_are_differentiated_while_mapped_over_devices(name: str) -> None:
    assert _run(_PROGRAM, name) == ["equal"]


def test_decompositions_are_differentiated_while_mapped_over_devices() -> None:
    assert _run(_DECOMPOSITIONS) == ["expm", "sqrtm", "svd", "qr", "eigh", "lu", "cholesky"]


def _run(program: str, *arguments: str) -> list[str]:
    """Return the lines that a program writes in a process with eight devices."""
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        capture_output=True, text=True, timeout=300, check=False, env=environment,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout.split("\n")[:-1]
