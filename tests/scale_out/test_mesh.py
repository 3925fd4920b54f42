"""Gradients of a batch that is split over a mesh of devices of JAX."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent

MESH = """
    import jax
    import numpy as np
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

    import treadle.tensor as tt
    from treadle.graph import FunctionGraph
    from treadle.link.jax import jax_function

    w, x, y = tt.dvector("w"), tt.dmatrix("x"), tt.dvector("y")
    loss = tt.nn.binary_cross_entropy_with_logits(x @ w, y)
    step = jax_function(FunctionGraph([w, x, y], [loss, tt.grad(loss, w)]))
    cost = jax_function(FunctionGraph([w, x, y], [loss]))

    rng = np.random.default_rng(1)
    values = rng.normal(size=3), rng.normal(size=(64, 3)), (rng.uniform(size=64) < 0.5).astype(float)
    with jax.enable_x64(True):
        mesh = jax.make_mesh((8,), ("batch",), axis_types=(AxisType.Auto,))
        whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("batch"))
        split = [jax.device_put(v, s) for v, s in zip(values, (whole, rows, rows))]
        here = [jax.device_put(v, jax.devices()[0]) for v in values]
        compiled = jax.jit(step).lower(*split).compile()
        assert "all-reduce" in compiled.as_text()
        assert len(split[1].addressable_shards) == 8 and split[1].addressable_shards[0].data.shape == (8, 3)
        results = [jax.jit(step)(*split), jax.jit(step)(*here),
                   jax.jit(jax.value_and_grad(lambda *args: cost(*args)[0]))(*split)]
        assert results[0][1].sharding.is_fully_replicated
        for loss_value, slope in results:
            np.testing.assert_allclose(loss_value, results[1][0], rtol=1e-13)
            np.testing.assert_allclose(slope, results[1][1], rtol=1e-12)
    print(len(jax.devices()))
"""


def test_the_gradient_of_a_batch_over_eight_devices_is_that_of_one() -> None:
    flags = {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", dedent(MESH)],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **flags},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "8"
