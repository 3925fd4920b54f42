"""Functions of mode JAX beside the same written by hand for JAX, in one process, in turns."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

from benchmarks.models import CALL, RADON, RUN

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Model

    Call = Callable[[], Any]

TREADLE, JAX = "treadle", "jax"
# With NumPy arrays at both ends, or arrays of JAX's.
ENDS = ("NumPy", "device")
_RUN = "seven7 seven5 cheap sum_seven sum0 softmax logsumexp erf logistic perceptron"
MODELS: dict[str, Model] = {
    **{name: CALL[name] for name in ("scalar", "ten", "vectors")},
    "radon": RADON,
    **{name: RUN[name] for name in _RUN.split()},
}
# Functions with state, on arrays of JAX's alone.
STATES = {
    "counter": "counter += 1",
    "data": "logistic regression step, weights and data shared",
    "decay": "weights decayed, 1e6",
    "row": "one of 1e6 weights changed",
    "normal": "normal, 1e6, portable generator (jax.random.normal)",
    "uniform": "uniform, 1e6, portable generator (jax.random.uniform)",
}
NAMES = (*MODELS, *STATES)


def title_of(name: str) -> str:
    """Return what the table calls a case."""
    return STATES[name] if name in STATES else MODELS[name].title


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Return the median seconds of a call for each system and each kind of ends, over rounds in turns."""
    calls = _state_calls(name) if name in STATES else _model_calls(MODELS[name])
    seconds: dict[str, list[float]] = {key: [] for key in calls}
    batches = {key: _batch(call) for key, call in calls.items()}
    for _ in range(rounds):
        for key, call in calls.items():
            start = time.process_time()
            for _ in range(batches[key]):
                call()
            seconds[key].append((time.process_time() - start) / batches[key])
    return {key: statistics.median(values) for key, values in seconds.items()}


def _batch(call: Call) -> int:
    """Return how many calls take a fifth of a second, after a first one that compiles."""
    for _ in range(3):
        call()
    start = time.perf_counter()
    call()
    return max(1, min(20_000, int(0.2 / max(time.perf_counter() - start, 1e-7))))


def _model_calls(model: Model) -> dict[str, Call]:
    import jax  # noqa: PLC0415 - each process imports what it measures
    import numpy as np  # noqa: PLC0415 - as above

    from benchmarks.systems import by_hand_in_jax, make  # noqa: PLC0415 - as above
    from treadle.config import config  # noqa: PLC0415 - as above

    values = model.values(np.random.default_rng(0))
    on_device = [jax.device_put(np.array(x)) for x in values]
    ready: Callable[[Any], Any] = jax.block_until_ready
    by_hand, ours = by_hand_in_jax(model), make(model, "treadle-JAX", "")
    with config.change_flags(jax__device_outputs=True):
        ours_on_device = make(model, "treadle-JAX", "")
    several = bool(model.slopes)
    return {
        f"{TREADLE} NumPy": lambda: ours(*values),
        f"{JAX} NumPy": lambda: list(map(np.asarray, by_hand(*values))) if several else np.asarray(by_hand(*values)),
        f"{TREADLE} device": lambda: ready(ours_on_device(*on_device)),
        f"{JAX} device": lambda: ready(by_hand(*on_device)),
    }


def _state_calls(name: str) -> dict[str, Call]:
    ours, by_hand = (_draw_calls if name in {"normal", "uniform"} else _update_calls)(name)
    return {f"{TREADLE} device": ours, f"{JAX} device": by_hand}


def _draw_calls(name: str) -> tuple[Call, Call]:
    import jax  # noqa: PLC0415 - as above

    from treadle.compile import function  # noqa: PLC0415 - as above
    from treadle.config import config  # noqa: PLC0415 - as above
    from treadle.tensor.random import RandomStream  # noqa: PLC0415 - as above

    draw = getattr(RandomStream(0, generator="portable"), name)(size=(10**6,))
    with config.change_flags(jax__device_outputs=True):
        ours = function([], draw, mode="JAX")

    def step(key: Any) -> tuple[Any, Any]:
        key, used = jax.random.split(key)
        return key, getattr(jax.random, name)(used, (10**6,))

    compiled, key = jax.jit(step), jax.random.key(0)

    def by_hand() -> None:
        nonlocal key
        key, drawn = compiled(key)
        drawn.block_until_ready()

    return lambda: ours().block_until_ready(), by_hand


def _update_calls(name: str) -> tuple[Call, Call]:
    import jax  # noqa: PLC0415 - as above
    import jax.numpy as jnp  # noqa: PLC0415 - as above
    import numpy as np  # noqa: PLC0415 - as above

    import treadle.tensor as tt  # noqa: PLC0415 - as above
    from treadle.compile import function, shared  # noqa: PLC0415 - as above

    rng = np.random.default_rng(0)
    data: list[np.ndarray] = []
    start = np.zeros({"counter": (), "data": (100,)}.get(name, 10**6))
    if name == "data":
        data = [rng.normal(size=(10_000, 100)), (rng.random(10_000) < 0.5).astype("float64")]

    def loss(xp: Any, w: Any, x: Any, y: Any) -> Any:
        score = x @ w
        positive = xp.softplus(score) if xp is tt else jnp.logaddexp(score, 0.0)
        return (positive - y * score).mean()

    steps: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "counter": (lambda w: w + 1, lambda w: w + 1),
        "decay": (lambda w: w * 0.999 + 0.1, lambda w: w * 0.999 + 0.1),
        "row": (lambda w: tt.inc_subtensor(w[5], 1.0), lambda w: w.at[5].add(1.0)),
        "data": (
            lambda w, x, y: w - 0.1 * tt.grad(loss(tt, w, x, y), w),
            lambda w, x, y: w - 0.1 * jax.grad(lambda w: loss(jnp, w, x, y))(w),
        ),
    }
    ours, by_hand = steps[name]
    w, *constants = (shared(value) for value in (start, *data))
    step = function([], [], updates={w: ours(w, *constants)}, mode="JAX")
    compiled, state = jax.jit(by_hand, donate_argnums=0), jnp.array(start)
    on_device = [jnp.array(value) for value in data]

    def by_hand_once() -> None:
        nonlocal state
        state = compiled(state, *on_device)

    if name == "counter":
        return step, by_hand_once

    def ours_ready() -> None:
        step()
        w.get_value(borrow=True, return_internal_type=True).block_until_ready()

    def by_hand_ready() -> None:
        by_hand_once()
        state.block_until_ready()

    return ours_ready, by_hand_ready
