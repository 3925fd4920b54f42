"""Arguments and shared variables over a mesh of devices, for functions that are called, not traced."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# The axes of `jax.make_mesh` are explicit unless it is told otherwise. Along those JAX itself refuses products over the
# batch, parts and sorts, for want of a place of the result.
_PROGRAM = """
import jax, numpy as np
import treadle.tensor as tt
from jax.sharding import NamedSharding, PartitionSpec as P
from treadle.compile import function, get_mode, shared

jax.config.update("jax_enable_x64", True)
mesh = jax.make_mesh((8,), ("batch",))
assert mesh.axis_types == (jax.sharding.AxisType.Explicit,)
x_values = np.random.default_rng(0).normal(size=(16, 3))
split = NamedSharding(mesh, P("batch"))
lying = jax.device_put(x_values, split)

x, y = tt.dmatrix("x"), tt.dvector("y")
for result in (x.T @ x, tt.cumsum(x, 0), tt.sort(x, 0), x[3], x[1:5], x.mean(0), tt.tanh(x)):
    expected = function([x], result, mode="VM")(x_values)
    np.testing.assert_allclose(function([x], result, mode="JAX")(lying), expected, rtol=1e-12)

def steps(argument, target):
    w = shared(np.zeros(3), name="w")
    loss = ((x @ w - y) ** 2).mean()
    step = function([x, y], loss, updates={w: w - 0.1 * tt.grad(loss, w)}, mode="JAX")
    return [float(step(argument, target)) for _ in range(5)]

y_values = x_values @ [1.0, -2.0, 0.5]
expected = steps(x_values, y_values)
y_lying = jax.device_put(y_values, split)
np.testing.assert_allclose(steps(lying, y_lying), expected, rtol=1e-12)

# State stays over the mesh, and results do.
on_device = get_mode("JAX").clone(link_kwargs={"device_outputs": True})
state = shared(np.zeros((16, 3)), name="state")
state.set_value(lying, borrow=True)
add = function([x], state, updates={state: state + x}, mode=on_device)
for count in range(1, 4):
    before = add(lying)
    assert len(before.sharding.device_set) == 8
    np.testing.assert_allclose(before, count * x_values)

# The user's own mesh around the call.
with jax.set_mesh(mesh):
    np.testing.assert_allclose(steps(lying, y_lying), expected, rtol=1e-12)
    np.testing.assert_allclose(steps(x_values, y_values), expected, rtol=1e-12)
    np.testing.assert_allclose(function([x], tt.cumsum(x, 0) * 2, mode="JAX")(lying), 2 * np.cumsum(x_values, 0))
    assert jax.sharding.get_abstract_mesh().axis_types == mesh.axis_types
print("equal")
"""


def test_arguments_over_a_mesh_with_explicit_axes_give_what_whole_ones_do(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "TREADLE_FLAGS": f"base_compiledir={tmp_path}",
    }
    for _ in range(2):  # the second process finds what the first has kept
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _PROGRAM],
            capture_output=True, text=True, timeout=240, check=False, env=environment,
        )  # fmt: skip
        assert done.stdout.strip() == "equal", done.stderr
