"""What is measured: treadle's backends and their peers, each turning a model into a callable of NumPy arrays."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.limits import compiler, limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Model

LIMIT = "C by hand"
# With what `./dev support-wheel` has compiled.
WITH_WHEEL = "treadle-C-wheel"
# Suffix of a system's name: arguments are used unchecked.
TRUSTED = "!"


def present() -> list[str]:
    """Return what can be measured here: treadle's backends, then peers, NumPy, and C."""
    from treadle.compile import BACKENDS  # noqa: PLC0415 - only the parent process needs it

    ours = [n for n in BACKENDS.names() if (b := BACKENDS.load(n)) is not None and b.unavailable() is None]
    peers = ["jax"] if importlib.util.find_spec("jax") else []
    peers += ["torch"] if importlib.util.find_spec("torch") else []
    peers += ["pytensor-C", "pytensor-NUMBA"] if importlib.util.find_spec("pytensor") else []
    return [*(f"treadle-{n.upper()}" for n in ours), *peers, "numpy", *([LIMIT] if compiler() else [])]


def wheel() -> Path | None:
    """Return the wheel of what C programs share, if one was built."""
    return max(Path("dist").glob("link_c_support-*.whl"), default=None)


def missing() -> list[str]:
    """Return the peers that are not installed."""
    wanted = {"jax": "jax", "torch": "torch", "pytensor": "pytensor"}
    return [name for name, module in wanted.items() if importlib.util.find_spec(module) is None]


def make(model: Model, system: str, directory: str) -> Callable[..., Any]:
    """Return a function of the model's arguments, which returns an array or a list of arrays."""
    name, trusted = system.removesuffix(TRUSTED), system.endswith(TRUSTED)
    if name.startswith("treadle-"):
        return _treadle(model, name.removeprefix("treadle-").partition("-")[0], trusted)
    if name.startswith("pytensor-"):
        return _pytensor(model, name.removeprefix("pytensor-"), trusted)
    if name == LIMIT:
        return limit(model.limit, directory)
    return {"jax": _jax, "torch": _torch, "numpy": _numpy}[name](model)


def symbolic(model: Model, xp: Any, variables: list[Any], grad: Callable[..., Any]) -> Any:
    """Return the output, or the list of outputs where there are gradients."""
    value = model.expression(xp, *variables)
    if not model.slopes:
        return value
    wanted = [variables[i] for i in model.slopes]
    slopes = grad(value, wanted)
    if model.step:
        slopes = [x - model.step * s for x, s in zip(wanted, slopes, strict=True)]
    return [value, *slopes]


def kinds(model: Model) -> list[tuple[str, int]]:
    """Return the dtype and the rank of each argument."""
    import numpy as np  # noqa: PLC0415 - each process imports one system

    return [(np.asarray(x).dtype.name, np.ndim(x)) for x in model.values(np.random.default_rng(0))]


def _treadle(model: Model, mode: str, trusted: bool) -> Callable[..., Any]:
    import treadle.tensor as tt  # noqa: PLC0415 - the import is part of what is measured
    from treadle.compile import function, shared  # noqa: PLC0415 - as above

    compiled: Any
    if model.title.startswith("counter"):
        count = shared(0.0, name="count")
        compiled = function([], [], updates=[(count, count + 1)], mode=mode)
    else:
        inputs = [tt.tensor(f"x{i}", dtype=dtype, shape=(None,) * n) for i, (dtype, n) in enumerate(kinds(model))]
        compiled = function(inputs, symbolic(model, tt, inputs, tt.grad), mode=mode)
    compiled.trust_input = trusted
    result: Callable[..., Any] = compiled
    return result


def _pytensor(model: Model, mode: str, trusted: bool) -> Callable[..., Any]:
    import numpy as np  # noqa: PLC0415 - as above
    import pytensor  # noqa: PLC0415 - as above
    import pytensor.tensor as pt  # noqa: PLC0415 - as above
    from pytensor.compile.mode import Mode  # noqa: PLC0415 - as above

    chosen = Mode("cvm", "fast_run") if mode == "C" else mode
    compiled: Any
    if model.title.startswith("counter"):
        count = pytensor.shared(np.asarray(0.0), name="count")
        compiled = pytensor.function([], [], updates=[(count, count + 1)], mode=chosen)
    else:
        inputs = [pt.tensor(f"x{i}", dtype=dtype, shape=(None,) * n) for i, (dtype, n) in enumerate(kinds(model))]
        compiled = pytensor.function(inputs, symbolic(model, pt, inputs, pytensor.grad), mode=chosen)
    compiled.trust_input = trusted
    result: Callable[..., Any] = compiled
    return result


def by_hand_in_jax(model: Model) -> Callable[..., Any]:
    """Return the model as a compiled function of JAX's, which returns before it has computed."""
    import jax  # noqa: PLC0415 - as above

    def whole(*args: Any) -> Any:
        if not model.slopes:
            return model.expression(jax.numpy, *args)
        value, slopes = jax.value_and_grad(lambda *a: model.expression(jax.numpy, *a), argnums=model.slopes)(*args)
        if model.step:
            slopes = [args[i] - model.step * s for i, s in zip(model.slopes, slopes, strict=True)]
        return [value, *slopes]

    compiled: Callable[..., Any] = jax.jit(whole)
    return compiled


def _jax(model: Model) -> Callable[..., Any]:
    import jax  # noqa: PLC0415 - as above

    compiled = by_hand_in_jax(model)
    ready: Callable[[Any], Any] = jax.block_until_ready
    return lambda *args: ready(compiled(*args))


def _torch(model: Model) -> Callable[..., Any]:
    import torch  # noqa: PLC0415 - as above

    torch.set_num_threads(1)

    def whole(*args: Any) -> Any:
        if not model.slopes:
            return model.expression(torch, *args)
        leaves = [a.detach().requires_grad_(i in model.slopes) for i, a in enumerate(args)]
        value = model.expression(torch, *leaves)
        slopes = torch.autograd.grad(value, [leaves[i] for i in model.slopes])
        if model.step:
            slopes = tuple(args[i] - model.step * s for i, s in zip(model.slopes, slopes, strict=True))
        return [value.detach(), *slopes]

    compiled = whole if model.slopes else torch.compile(whole, dynamic=False)
    kept: dict[tuple[int, ...], list[Any]] = {}

    def run(*args: Any) -> Any:
        key = tuple(map(id, args))
        if key not in kept:
            kept[key] = [torch.from_numpy(a) for a in args]
        return compiled(*kept[key])

    return run


def _numpy(model: Model) -> Callable[..., Any]:
    import numpy as np  # noqa: PLC0415 - as above

    return lambda *args: model.expression(np, *args)
