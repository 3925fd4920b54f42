"""One measurement in a process of its own: ``python -m benchmarks.worker SECTION MODEL SYSTEM``, JSON out."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

START = time.perf_counter()

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.models import Model


def _treadle(model: Model, mode: str) -> Callable[..., Any]:
    from treadle.compile import function  # noqa: PLC0415 - the import is part of what is measured

    inputs, outputs, updates = model.graph()
    return function(inputs, outputs, mode=mode, updates=updates)


def _jax(model: Model) -> Callable[..., Any]:
    import jax  # noqa: PLC0415 - the import is part of what is measured

    compiled = jax.jit(lambda *args: model.by_hand(jax.numpy, *args))
    return lambda *args: compiled(*args).block_until_ready()


def _numpy(model: Model) -> Callable[..., Any]:
    import numpy as np  # noqa: PLC0415 - the import is part of what is measured

    return lambda *args: model.by_hand(np, *args)


def make(model: Model, system: str) -> Callable[..., Any]:
    """Return the callable of one system: ``treadle-<mode>``, ``jax`` or ``numpy``."""
    if system.startswith("treadle-"):
        return _treadle(model, system.removeprefix("treadle-"))
    return _jax(model) if system == "jax" else _numpy(model)


def per_call(run: Callable[..., Any], values: list[Any], budget: float = 1.0) -> float:
    """Return the median seconds of a call, over batches that fill the budget."""
    start = time.perf_counter()
    run(*values)
    once = time.perf_counter() - start
    batch = max(1, min(10_000, int(budget / 20 / max(once, 1e-7))))
    times: list[float] = []
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        for _ in range(batch):
            run(*values)
        times.append((time.perf_counter() - start) / batch)
    return statistics.median(times)


def main(section: str, name: str, system: str) -> dict[str, Any]:
    """Measure one cell of a table."""
    if section == "rewrite":
        from benchmarks.rewriting import measure  # noqa: PLC0415 - it imports NumPy

        return measure(name, system)
    import numpy as np  # noqa: PLC0415 - the import is part of what is measured

    from benchmarks.models import SECTIONS  # noqa: PLC0415 - as above

    model = SECTIONS["run" if section == "memory" else section][name]
    values = model.values(np.random.default_rng(0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = make(model, system)
    result = run(*values)
    first = time.perf_counter() - START
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    check = float(np.sum(np.asarray(result)))
    answer = {"first": first, "check": check, "peak_mib": peak / 1024}
    if section in {"call", "run"}:
        answer["seconds"] = per_call(run, values)
    return answer


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:4])))
