"""Draws of random numbers: treadle with its own generator and with NumPy's, NumPy, JAX, PyTensor, Numba by hand."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from benchmarks.worker import per_call

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 20250101
SHARES = np.arange(1.0, 101.0) / 5050.0
ALPHA = np.linspace(0.5, 3.0, 10)
MEAN, COVARIANCE = np.zeros(10), np.eye(10) + 0.5
NUMBA = "Numba by hand"


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw to measure.

    Attributes
    ----------
    title
        What the table calls it.
    method
        The method of a RandomStream.
    parameters
        Its parameters.
    size
        How many numbers or vectors are drawn.
    jax
        Takes ``jax.random``, a key and the size.
    numba
        The loop that Numba compiles, with NumPy's generator and the size.
    numpy
        The method of NumPy's Generator, if it has another name, and keywords.
    """

    title: str
    method: str
    parameters: tuple[Any, ...]
    size: int
    jax: Callable[[Any, Any, int], Any]
    numba: Callable[[np.random.Generator, int], np.ndarray]
    numpy: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None


def _normals(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_normal(n)


def _uniforms(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.random(n)


def _exponentials(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_exponential(n)


def _gammas(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_gamma(2.5, n)


def _betas(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.beta(2.0, 3.0, n)


def _categories(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.searchsorted(np.cumsum(SHARES), rng.random(n), side="right")


def _poissons(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.poisson(3.5, n)


def _binomials(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.binomial(20, 0.3, n)


def _dirichlets(rng: np.random.Generator, n: int) -> np.ndarray:
    drawn = np.empty((n, ALPHA.size))
    for i in range(n):
        total = 0.0
        for j in range(ALPHA.size):
            drawn[i, j] = rng.standard_gamma(ALPHA[j])
            total += drawn[i, j]
        drawn[i] /= total
    return drawn


def _vectors(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_normal((n, MEAN.size)) @ np.linalg.cholesky(COVARIANCE).T + MEAN


DRAWS = {
    "normal": Draw("normal, 1e6", "normal", (0.0, 1.0), 10**6, lambda r, k, n: r.normal(k, (n,)), _normals),
    "uniform": Draw("uniform, 1e6", "uniform", (0.0, 1.0), 10**6, lambda r, k, n: r.uniform(k, (n,)), _uniforms),
    "exponential": Draw(
        "exponential, 1e6", "exponential", (1.0,), 10**6, lambda r, k, n: r.exponential(k, (n,)), _exponentials
    ),
    "gamma": Draw("gamma(2.5), 1e6", "gamma", (2.5, 1.0), 10**6, lambda r, k, n: r.gamma(k, 2.5, (n,)), _gammas),
    "beta": Draw("beta(2, 3), 1e6", "beta", (2.0, 3.0), 10**6, lambda r, k, n: r.beta(k, 2.0, 3.0, (n,)), _betas),
    "categorical": Draw(
        "categorical, 100 classes, 1e5",
        "categorical",
        (SHARES,),
        10**5,
        lambda r, k, n: r.categorical(k, np.log(SHARES), shape=(n,)),
        _categories,
        ("choice", (100,), {"p": SHARES}),
    ),
    "poisson": Draw("Poisson(3.5), 1e5", "poisson", (3.5,), 10**5, lambda r, k, n: r.poisson(k, 3.5, (n,)), _poissons),
    "binomial": Draw(
        "binomial(20, 0.3), 1e5", "binomial", (20, 0.3), 10**5, lambda r, k, n: r.binomial(k, 20, 0.3, (n,)), _binomials
    ),
    "dirichlet": Draw(
        "Dirichlet of size 10, 1e4",
        "dirichlet",
        (ALPHA,),
        10**4,
        lambda r, k, n: r.dirichlet(k, ALPHA, (n,)),
        _dirichlets,
    ),
    "multivariate_normal": Draw(
        "multivariate normal of size 10, 1e4",
        "multivariate_normal",
        (MEAN, COVARIANCE),
        10**4,
        lambda r, k, n: r.multivariate_normal(k, MEAN, COVARIANCE, (n,)),
        _vectors,
    ),
}


def columns() -> list[str]:
    """Return what can be measured here. Of treadle, first with its own generator, then with NumPy's."""
    installed = {name: importlib.util.find_spec(name) is not None for name in ("numba", "jax", "pytensor")}
    names = ["treadle-C portable", "treadle-NUMBA portable", "treadle-C", "treadle-NUMBA", "numpy"]
    names = [n for n in names if "NUMBA" not in n or installed["numba"]]
    names += ["pytensor-C", "pytensor-NUMBA"] if installed["pytensor"] else []
    return [*names, *(["jax"] if installed["jax"] else []), *([NUMBA] if installed["numba"] else [])]


def measure(name: str, system: str) -> dict[str, Any]:
    """Return the seconds of a call."""
    draw = DRAWS[name]
    library, _, kind = system.partition(" ")
    if system == NUMBA:
        run = _numba(draw)
    elif library.startswith("treadle-"):
        run = _treadle(draw, library.removeprefix("treadle-"), "portable" if kind else "numpy")
    elif library.startswith("pytensor-"):
        run = _pytensor(draw, library.removeprefix("pytensor-"))
    else:
        run = {"numpy": _numpy, "jax": _jax}[library](draw)
    run()
    return {"seconds": per_call(run, [])}


def _treadle(draw: Draw, mode: str, kind: Literal["numpy", "portable"]) -> Callable[[], Any]:
    from treadle.compile import function  # noqa: PLC0415 - each process imports one system
    from treadle.tensor.random import RandomStream  # noqa: PLC0415 - as above

    stream = RandomStream(SEED, generator=kind)
    draws: Callable[[], Any] = function([], _of_stream(stream, draw), mode=mode)
    return draws


def _of_stream(stream: Any, draw: Draw) -> Any:
    """Return the draw of a stream; the gamma distribution's second parameter is by name."""
    if draw.method == "gamma":
        return stream.gamma(draw.parameters[0], scale=draw.parameters[1], size=(draw.size,))
    return getattr(stream, draw.method)(*draw.parameters, size=(draw.size,))


def _pytensor(draw: Draw, mode: str) -> Callable[[], Any]:
    import pytensor  # noqa: PLC0415 - as above
    from pytensor.compile.mode import Mode  # noqa: PLC0415 - as above
    from pytensor.tensor.random import RandomStream  # noqa: PLC0415 - as above

    chosen = Mode("cvm", "fast_run") if mode == "C" else mode
    draws: Callable[[], Any] = pytensor.function([], _of_stream(RandomStream(SEED), draw), mode=chosen)
    return draws


def _numpy(draw: Draw) -> Callable[[], Any]:
    rng = np.random.default_rng(SEED)
    method, parameters, more = draw.numpy or (draw.method, draw.parameters, {})
    drawn = getattr(rng, method)
    return lambda: drawn(*parameters, size=draw.size, **more)


def _jax(draw: Draw) -> Callable[[], Any]:
    import jax  # noqa: PLC0415 - as above

    def step(key: Any) -> Any:
        key, own = jax.random.split(key)
        return key, draw.jax(jax.random, own, draw.size)

    compiled = jax.jit(step)
    ready: Callable[[Any], Any] = jax.block_until_ready
    state = [jax.random.key(SEED)]

    def run() -> Any:
        state[0], drawn = compiled(state[0])
        return ready(drawn)

    return run


def _numba(draw: Draw) -> Callable[[], Any]:
    import numba  # noqa: PLC0415 - as above

    rng = np.random.default_rng(SEED)
    compiled = numba.njit(draw.numba)
    return lambda: compiled(rng, draw.size)
