"""One model of PyMC in a process of its own: ``python -m benchmarks.pymc_worker MODEL SYSTEM PART DRAWS``, JSON out.

The part ``first`` ends with the first draw of NUTS; ``all`` measures calls and draws besides.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

START = time.perf_counter()


def sample(draws: int, tune: int, drawn: Callable[..., None] | None = None) -> Any:
    """Sample the model of the context in one chain; `drawn` is called after each draw."""
    import pymc as pm  # noqa: PLC0415 - the import is part of what is measured

    return pm.sample(
        draws,
        tune=tune,
        chains=1,
        cores=1,
        nuts_sampler="pymc",
        init="adapt_diag",
        random_seed=1,
        progressbar=False,
        compute_convergence_checks=False,
        discard_tuned_samples=False,
        callback=drawn,
    )


def steps_of(trace: Any) -> int:
    """Return how often the log density was differentiated, tuning included."""
    parts = [trace[name] for name in ("sample_stats", "warmup_sample_stats") if name in trace.children]
    return int(sum(part["n_steps"].to_numpy().sum() for part in parts))


def main(name: str, system: str, part: str, draws: int) -> dict[str, Any]:
    """Measure one cell of the tables."""
    warnings.simplefilter("ignore")
    if system.startswith("treadle"):
        import treadle.as_pytensor  # noqa: PLC0415 - in processes of treadle only

        treadle.as_pytensor.install()
    from benchmarks.pymc_models import CASES  # noqa: PLC0415 - it imports PyMC, which is part of what is measured

    logging.getLogger("pymc").setLevel(logging.ERROR)
    model = CASES[name]()
    answer: dict[str, Any] = {}

    def note(**_drawn: Any) -> None:
        answer.setdefault("first", time.perf_counter() - START)

    with model:
        sample(1, 0, note)
    if part == "first":
        return answer
    from pymc.blocking import DictToArrayBijection  # noqa: PLC0415 - after what is measured

    from benchmarks.worker import per_call  # noqa: PLC0415 - as above

    density = model.logp_dlogp_function(ravel_inputs=True)
    density.set_extra_values({})
    point = DictToArrayBijection.map(model.initial_point())
    answer |= {"check": float(density(point)[0]), "seconds": per_call(density, [point])}
    with model:
        start = time.perf_counter()
        trace = sample(draws, draws // 2)
        answer["whole"] = time.perf_counter() - start
    sampling = float(trace["posterior"].attrs["sampling_time"])
    return answer | {"sampling": sampling, "step": sampling / steps_of(trace)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))))
