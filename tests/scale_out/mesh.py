"""Gradients of a batch over eight devices of JAX, for a process that has not used JAX yet."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

import treadle.tensor as tt
from treadle.graph import FunctionGraph


def compare_gradients() -> int:
    """Compare gradients over the devices with those of one; return how many devices there are."""
    assert "jax" not in sys.modules
    os.environ.update(
        XLA_FLAGS="--xla_force_host_platform_device_count=8", JAX_PLATFORMS="cpu", JAX_DISABLE_MOST_OPTIMIZATIONS="1"
    )
    import jax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    from treadle.link.jax import jax_function

    w, x, y = tt.dvector("w"), tt.dmatrix("x"), tt.dvector("y")
    loss = tt.nn.binary_cross_entropy_with_logits(x @ w, y)
    step = jax.jit(jax_function(FunctionGraph([w, x, y], [loss, tt.grad(loss, w)])))
    cost = jax_function(FunctionGraph([w, x, y], [loss]))

    rng = np.random.default_rng(1)
    values = rng.normal(size=3), rng.normal(size=(64, 3)), (rng.uniform(size=64) < 0.5).astype(float)
    with jax.enable_x64(True):
        mesh = jax.make_mesh((8,), ("batch",), axis_types=(AxisType.Auto,))
        specs: list[Any] = [PartitionSpec(), PartitionSpec("batch")]  # type: ignore[no-untyped-call]
        whole, rows = (NamedSharding(mesh, spec) for spec in specs)
        split = [jax.device_put(v, s) for v, s in zip(values, (whole, rows, rows), strict=True)]
        here = [jax.device_put(v, jax.devices()[0]) for v in values]
        assert "all-reduce" in str(step.lower(*split).compile().as_text())
        assert len(split[1].addressable_shards) == 8
        assert split[1].addressable_shards[0].data.shape == (8, 3)
        results = [step(*split), step(*here), jax.jit(jax.value_and_grad(lambda *args: cost(*args)[0]))(*split)]
        assert results[0][1].sharding.is_fully_replicated
        for loss_value, slope in results:
            np.testing.assert_allclose(loss_value, results[1][0], rtol=1e-13)
            np.testing.assert_allclose(slope, results[1][1], rtol=1e-12)
    return len(jax.devices())
