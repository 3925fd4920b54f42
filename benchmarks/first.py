"""The first result of another function in a running process, whose machine has compiled what functions share."""

from __future__ import annotations

import resource
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import linear_algebra
from benchmarks.loops import CASES, Jax, Treadle
from benchmarks.model import Model
from benchmarks.models import COMPILE
from benchmarks.worker import settle, sum_of

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOP = CASES["rnn"]


def _scalar(xp: Any, x: Any, k: Any) -> Any:
    return xp.exp(3 * x) + 1 + k


def _recurrent(xp: Any, *values: Any) -> Any:
    lib = Jax() if xp.__name__ == "jax.numpy" else Treadle()
    return _LOOP.expression(lib, *values)


MODELS = {
    "double": COMPILE["double"],
    "scalar": Model("exp(3x) + 1 + k", lambda rng: [rng.normal(size=3), np.asarray(rng.normal())], _scalar),
    **{name: COMPILE[name] for name in ("chain", "logistic", "radon", "perceptron", "hierarchical")},
    "process": linear_algebra.PROCESS,
    "loop": Model(_LOOP.title, _LOOP.values, _recurrent, slopes=_LOOP.slopes),
}


def _other(xp: Any, x: Any) -> Any:
    """Return what nothing that is measured has a program of."""
    del xp
    return x - 3


def clear(directory: str) -> None:
    """Remove the programs from the compile directories, but not what programs share."""
    shutil.rmtree(Path(directory, "jax"), ignore_errors=True)
    for folder in Path(directory, "treadle").glob("*/*"):
        if folder.name == "support":
            continue
        if folder.is_dir():
            shutil.rmtree(folder)
        else:
            folder.unlink()


def measure(name: str, system: str, directory: str) -> dict[str, Any]:
    """Return the seconds from an expression to its result, and those of processors, of compilers too."""
    from benchmarks.systems import make  # noqa: PLC0415 - it imports the system

    rng = np.random.default_rng(0)
    other, model = Model("", lambda rng: [rng.normal(size=4)], _other), MODELS[name]
    make(other, system, directory)(*other.values(rng))
    settle(system)
    values = model.values(rng)
    before, start = _used(), time.perf_counter()
    run: Callable[..., Any] = make(model, system, directory)
    result = run(*values)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "used": _used() - before, "check": sum_of(result)}


def _used() -> float:
    """Return the processors' seconds of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
