"""One measurement in a process of its own: ``python -m benchmarks.worker SECTION MODEL SYSTEM DIRECTORY``, JSON out."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

START = time.perf_counter()

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Model


def per_call(run: Callable[..., Any], values: list[Any], budget: float = 0.6) -> float:
    """Return the median seconds of a call, over batches that fill the budget.

    They are the processor's seconds: all systems work in one thread, and other work disturbs these less.
    """
    clock = time.process_time
    start = clock()
    run(*values)
    once = clock() - start
    batch = max(1, min(10_000, int(budget / 20 / max(once, 1e-7))))
    times: list[float] = []
    end = clock() + budget
    while clock() < end or len(times) < 3:
        start = clock()
        for _ in range(batch):
            run(*values)
        times.append((clock() - start) / batch)
    return statistics.median(times)


def _memory(name: str) -> int:
    """Return a figure of the process's memory in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def peak_above(run: Callable[..., Any], values: list[Any]) -> float:
    """Return how far memory rises during a call above the arguments and the results, in MiB.

    The function was called once before with small arguments, so that what compiling takes does not count.
    """
    import numpy as np  # noqa: PLC0415 - as in main

    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    result = run(*values)
    outputs = result if isinstance(result, list | tuple) else [result]
    return (_memory("VmHWM") - before - sum(np.asarray(x).nbytes for x in outputs)) / 2**20


def sum_of(result: Any) -> float:
    """Return the sum of all results, to compare systems by."""
    import numpy as np  # noqa: PLC0415 - as in main

    outputs = result if isinstance(result, list | tuple) else [result]
    return float(sum(np.sum(np.asarray(x), dtype="float64") for x in outputs if x is not None))


def _small(model: Model, values: list[Any]) -> list[Any]:
    """Return arguments of the same ranks, few elements: rows of matrices, where their columns must fit."""
    if model.slopes:
        return values
    return [x[:8].copy() if x.ndim else x for x in values]


def main(section: str, name: str, system: str, directory: str) -> dict[str, Any]:
    """Measure one cell of a table."""
    if section == "rewrite":
        from benchmarks.rewriting import measure  # noqa: PLC0415 - it imports NumPy

        return measure(name, system)
    if section == "random":
        from benchmarks.random_numbers import measure as measure_draw  # noqa: PLC0415 - as above

        return measure_draw(name, system)
    if section == "loops":
        from benchmarks.loops import measure as measure_loop  # noqa: PLC0415 - as above

        return measure_loop(name, system)
    if section == "jax":
        from benchmarks.beside_jax import measure as measure_beside  # noqa: PLC0415 - as above

        return measure_beside(name, int(system))
    if section == "first":
        from benchmarks.first import measure as measure_first  # noqa: PLC0415 - as above

        return measure_first(name, system, directory)
    if section == "torch":
        from benchmarks.torch_tables import measure as measure_torch  # noqa: PLC0415 - as above

        return measure_torch(name, system)
    if section == "tiers":
        from benchmarks.tiers import measure as measure_tiers  # noqa: PLC0415 - as above

        return measure_tiers(name, system, START)
    import numpy as np  # noqa: PLC0415 - the import is part of what is measured

    from benchmarks.models import SECTIONS  # noqa: PLC0415 - as above
    from benchmarks.systems import make  # noqa: PLC0415 - as above

    model = SECTIONS[section][name]
    values = model.values(np.random.default_rng(0))
    run = make(model, system, directory)
    if section == "memory":
        run(*_small(model, values))
        return {"peak_mib": peak_above(run, values), "check": sum_of(run(*values))}
    result = run(*values)
    answer = {"first": time.perf_counter() - START, "check": sum_of(result)}
    if section in {"call", "run"}:
        settle(system)
        answer["seconds"] = per_call(run, values)
    return answer


def settle(system: str) -> None:
    """Wait until the background compilation of treadle's C has ended."""
    if system.startswith("treadle-C") and "plain" not in system:
        from treadle.link.c.support.libraries import SUPPORT  # noqa: PLC0415 - of one system only

        SUPPORT.wait(30)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:5])))
