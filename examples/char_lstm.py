"""A network that learns to write like Python's own documentation, one character after the other.

The text is the documentation that ``help()`` shows for the language's statements (``pydoc_data.topics``, which ships
with Python). The network is a layer of long short-term memory (Hochreiter and Schmidhuber, 1997): a loop over the
characters of a stretch, whose gradient is a loop that runs backwards. Adam (Kingma and Ba, 2015) keeps its state in
shared variables. The sample is drawn by another loop: what a step draws is what the next one reads, and the generator
travels from step to step as part of the carry.

Run it with ``./dev run python examples/char_lstm.py``. It prints the loss and a sample, and saves ``char_lstm.png``
beside itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from pydoc_data.topics import topics
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.tensor.random import shared_rng

mpl.use("Agg")
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor import TensorSharedVariable, TensorVariable

    Array = np.ndarray
    State = tuple[TensorVariable, TensorVariable]
    Carry = tuple[State, TensorVariable, Any]

PICTURE = Path(__file__).with_suffix(".png")
HIDDEN, BATCH, STRETCH, SEED = 128, 32, 50, 7
RATE, MEMORY, MEMORY_OF_SQUARES, SMALL = 4e-3, 0.9, 0.999, 1e-8
STARTS = ("if_statement", "while", "for", "try", "with", "function", "class", "import", "exprlists", "lambda")


def load() -> tuple[Array, str]:
    """Return the text as numbers of characters, and the characters."""
    text = "\n".join(topics[name] for name in (*STARTS, *sorted(topics)) if name in topics)
    text = "".join(c for c in text if c == "\n" or " " <= c <= "~")
    alphabet = "".join(sorted(set(text)))
    table = np.full(128, -1)
    table[[ord(c) for c in alphabet]] = np.arange(len(alphabet))
    return table[np.frombuffer(text.encode(), "uint8")], alphabet


def weights(count: int) -> dict[str, TensorSharedVariable]:
    """Return the parameters, as shared variables."""
    rng = np.random.default_rng(SEED)

    def normal(*shape: int) -> Array:
        drawn: Array = rng.normal(size=shape) / np.sqrt(shape[0])
        return drawn

    forget = np.zeros(4 * HIDDEN)
    forget[HIDDEN : 2 * HIDDEN] = 1.0
    values = {
        "read": normal(count, 4 * HIDDEN) * np.sqrt(count / HIDDEN),
        "recur": normal(HIDDEN, 4 * HIDDEN),
        "offset": forget,
        "write": normal(HIDDEN, count),
        "level": np.zeros(count),
    }
    return {name: shared(value, name=name) for name, value in values.items()}


def step(theta: dict[str, TensorSharedVariable], state: State, characters: TensorVariable) -> State:
    """Return the state after reading a character in each row of a batch."""
    h, c = state
    gates = theta["read"][characters] + h @ theta["recur"] + theta["offset"]
    enter, keep, leave = (tt.sigmoid(gates[:, k * HIDDEN : (k + 1) * HIDDEN]) for k in range(3))
    c = keep * c + enter * tt.tanh(gates[:, 3 * HIDDEN :])
    return leave * tt.tanh(c), c


def trained(theta: dict[str, TensorSharedVariable]) -> Callable[[Array], Array]:
    """Return a function that learns from a batch of stretches, shape (STRETCH + 1, BATCH).

    It returns the mean loss of a character in nats.
    """
    text = tt.lmatrix("text")
    zeros = tt.zeros((text.shape[1], HIDDEN))

    def read(state: State, row: TensorVariable) -> tuple[State, TensorVariable]:
        after = step(theta, state, row)
        return after, after[0]

    _, states = tt.scan_with_carry(read, (zeros, zeros), text[:-1], name="read")
    scores = tt.log_softmax(states @ theta["write"] + theta["level"], axis=-1)
    loss = -tt.take_along_axis(scores, text[1:][:, :, None], axis=-1).mean()
    count = shared(np.int64(0), name="count")
    updates = {count: count + 1}
    for var, slope in zip(theta.values(), tt.grad(loss, list(theta.values())), strict=True):
        first, second = (shared(np.zeros_like(var.get_value())) for _ in range(2))
        updates[first] = MEMORY * first + (1 - MEMORY) * slope
        updates[second] = MEMORY_OF_SQUARES * second + (1 - MEMORY_OF_SQUARES) * slope**2
        mean = updates[first] / (1 - MEMORY ** (count + 1))
        square = updates[second] / (1 - MEMORY_OF_SQUARES ** (count + 1))
        updates[var] = var - RATE * mean / (tt.sqrt(square) + SMALL)
    return function([text], loss, updates=updates, name="training")


def sampler(theta: dict[str, TensorSharedVariable], length: int) -> Callable[[Array, float], Array]:
    """Return a function that goes on from a text, with a temperature: the smaller, the more likely each character."""
    start, temperature = tt.lvector("start"), tt.dscalar("temperature")
    generator = shared_rng(seed=SEED)
    zeros = tt.zeros((1, HIDDEN))

    def read(state: State, character: TensorVariable) -> tuple[State, None]:
        return step(theta, state, character[None]), None

    state, _ = tt.scan_with_carry(read, (zeros, zeros), start[:-1], name="read")

    def write(carry: Carry, row: None) -> tuple[Carry, TensorVariable]:
        del row
        state, character, rng = carry
        h, c = step(theta, state, character[None])
        scores = (h[0] @ theta["write"] + theta["level"]) / temperature
        rng, drawn = rng.categorical(tt.softmax(scores))
        return ((h, c), drawn, rng), drawn

    (_, _, moved), text = tt.scan_with_carry(write, (state, start[-1], generator), length=length, name="write")
    return function([start, temperature], text, updates={generator: moved}, name="sample")


def draw(losses: Array, path: Path) -> None:
    """Save the loss of each step, and its mean over steps nearby."""
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    window = min(25, losses.size)
    smooth = np.convolve(losses, np.ones(window) / window, "valid")
    axis.plot(losses, color="lightgray", label="a batch")
    axis.plot(np.arange(smooth.size) + window // 2, smooth, label=f"mean of {window}")
    axis.set(xlabel="step", ylabel="nats a character", title="Loss of a network that reads Python's documentation")
    axis.legend()
    figure.savefig(path, dpi=90)


def main() -> int:
    """Train, sample and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    parser.add_argument("--steps", type=int, default=1500, help="number of batches to learn from")
    given = parser.parse_args()
    text, alphabet = load()
    theta = weights(len(alphabet))
    begin = time.perf_counter()
    train, sample = trained(theta), sampler(theta, 300)
    print(f"{text.size} characters, {len(alphabet)} different ones; compiled in {time.perf_counter() - begin:.1f} s")
    rng, losses = np.random.default_rng(SEED), []
    rows = np.arange(STRETCH + 1)[:, None]
    begin = time.perf_counter()
    for at in range(given.steps):
        losses.append(float(train(text[rng.integers(0, text.size - STRETCH - 1, BATCH) + rows])))
        if at % (given.steps // 10 or 1) == 0:
            print(f"step {at:5}  loss {np.mean(losses[-100:]):.3f}", flush=True)
    seconds = time.perf_counter() - begin
    print(f"loss {np.mean(losses[-100:]):.3f} after {given.steps} steps of {1e3 * seconds / given.steps:.1f} ms")
    written = sample(np.array([alphabet.index(c) for c in "The "]), 0.6)
    print(f"\nThe {''.join(alphabet[k] for k in written)}\n")
    draw(np.array(losses), given.output)
    print(f"saved {given.output.name}")
    return 0 if np.mean(losses[-50:]) < 0.75 * losses[0] else 1


if __name__ == "__main__":
    sys.exit(main())
