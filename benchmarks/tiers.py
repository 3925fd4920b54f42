"""Functions with and without tiers: how long a new process takes to its first result."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.models import COMPILE

MODELS = {name: COMPILE[name] for name in ("double", "perceptron", "hierarchical")}
MODES = ("C", "NUMBA", "JAX")
SUFFIX = " tiered"


def columns() -> list[str]:
    """Return what is compared: each mode without tiers and with them."""
    return [f"{mode}{suffix}" for mode in MODES for suffix in ("", SUFFIX)]


def measure(name: str, system: str, start: float) -> dict[str, Any]:
    """Return the seconds from the start of the process to the first result, and until the mode's program has run."""
    import numpy as np  # noqa: PLC0415 - the import is part of what is measured

    import treadle.tensor as tt  # noqa: PLC0415 - as above
    from treadle.compile import function  # noqa: PLC0415 - as above

    model = MODELS[name]
    values = model.values(np.random.default_rng(0))
    inputs = [
        tt.tensor(f"x{i}", dtype=x.dtype.name, shape=(None,) * x.ndim) for i, x in enumerate(map(np.asarray, values))
    ]
    value = model.expression(tt, *inputs)
    outputs = value
    if model.slopes:
        wanted = [inputs[i] for i in model.slopes]
        slopes = tt.grad(value, wanted)
        if model.step:
            slopes = [x - model.step * slope for x, slope in zip(wanted, slopes, strict=True)]
        outputs = [value, *slopes]
    made = time.perf_counter()
    f = function(inputs, outputs, mode=system.removesuffix(SUFFIX), tiered=system.endswith(SUFFIX))
    result = f(*values)
    first = time.perf_counter()
    calls = 0
    # Calls go on meanwhile, as they would; one of them lets a library compile for its lengths.
    while f.tier == "vm":
        f(*values)
        calls += 1
    f(*values)
    ready = time.perf_counter()
    results = result if isinstance(result, list) else [result]
    check = float(sum(np.sum(np.asarray(x), dtype="float64") for x in results))
    return {"first": first - start, "made": first - made, "ready": ready - start, "calls": calls, "check": check}
