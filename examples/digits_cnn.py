"""A small convolutional network that reads handwritten digits.

The data are scikit-learn's digits (Alpaydin and Kaynak 1998; 1797 images of 8 x 8 pixels). Two layers of convolutions,
pooling and a dense layer are trained by Adam (Kingma and Ba 2015) on three quarters of them; the rest are held
out. Parameters live in shared variables, so that a step is one call.

Run it with ``./dev run python examples/digits_cnn.py``. It prints the accuracy and saves the learnt filters, and the
digits that it misread, as ``digits_cnn.png`` beside itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import treadle.tensor as tt
from treadle.compile import function, shared

PICTURE = Path(__file__).with_suffix(".png")

EPOCHS, BATCH, RATE, PENALTY = 30, 64, 2e-3, 1e-3


def load() -> list[Any]:
    """Return images, (n, 1, 8, 8) from 0 to 1, and digits: those to learn from, then those held out."""
    pixels, digits = load_digits(return_X_y=True)
    images = (pixels / 16).reshape(-1, 1, 8, 8).astype("float32")
    made: list[Any] = train_test_split(images, digits, test_size=0.25, random_state=0, stratify=digits)
    return made


def network(rng: np.random.Generator) -> tuple[Any, list[Any]]:
    """Return the function from images to scores of the ten digits, and its parameters."""

    def weights(*shape: int) -> Any:
        scale = np.sqrt(2 / np.prod(shape[1:]))
        return shared((scale * rng.normal(size=shape)).astype("float32"))

    first, second, dense = weights(16, 1, 3, 3), weights(32, 16, 3, 3), weights(10, 32 * 4 * 4)
    biases = [shared(np.zeros(n, "float32")) for n in (16, 32, 10)]

    def scores(images: Any) -> Any:
        hidden = tt.maximum(tt.conv2d(images, first, biases[0], padding=1), 0)
        hidden = tt.max_pool2d(tt.maximum(tt.conv2d(hidden, second, biases[1], padding=1), 0), 2)
        return hidden.flatten(2) @ dense.T + biases[2]

    return scores, [first, second, dense, *biases]


def adam(loss: Any, parameters: list[Any], rate: Any) -> dict[Any, Any]:
    """Return the updates of one step."""
    step = shared(np.float32(0))
    updates = {step: step + 1}
    for p, slope in zip(parameters, tt.grad(loss, parameters), strict=True):
        mean, square = (shared(np.zeros_like(p.get_value())) for _ in range(2))
        updates[mean] = 0.9 * mean + 0.1 * slope
        updates[square] = 0.999 * square + 0.001 * slope**2
        size = tt.sqrt(updates[square] / (1 - 0.999 ** (step + 1))) + 1e-8
        updates[p] = p - rate * updates[mean] / (1 - 0.9 ** (step + 1)) / size
    return updates


def draw(filters: Any, wrong: list[tuple[Any, int, int]], path: Path) -> None:
    """Save the filters of the first layer, and the digits that were misread."""
    import matplotlib as mpl  # noqa: PLC0415 - only who draws pays for it

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415 - as above

    figure, rows = plt.subplots(2, 8, figsize=(8, 2.6), layout="constrained")
    for axes in rows.flat:
        axes.axis("off")
    for axes, image in zip(rows[0], filters[:8, 0], strict=True):
        axes.imshow(image, cmap="RdBu")
    for axes, (image, read, digit) in zip(rows[1], wrong[:8], strict=False):
        axes.imshow(image[0], cmap="gray_r")
        axes.set_title(f"{digit} read as {read}", fontsize=7)
    figure.suptitle("Filters of the first layer; digits that were misread", fontsize=9)
    figure.savefig(path, dpi=80)


def main() -> int:
    """Train, report, and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="how often to go through the data")
    given = parser.parse_args()

    rng = np.random.default_rng(0)
    images, held_out, digits, answers = load()
    scores, parameters = network(rng)
    x, y, rate = tt.ftensor4("images"), tt.lvector("digits"), tt.fscalar("rate")
    loss = -tt.log_softmax(scores(x), axis=1)[tt.arange(y.shape[0]), y].mean()
    loss = loss + PENALTY * tt.add(*((w**2).sum() for w in parameters[:3]))
    start = time.perf_counter()
    train = function([x, y, rate], loss, updates=adam(loss, parameters, rate), name="train")
    read = function([x], tt.argmax(scores(x), axis=1), name="read")
    print(f"compiled in {time.perf_counter() - start:.1f} s")

    start = time.perf_counter()
    for epoch in range(given.epochs):
        order = rng.permutation(len(images))
        slower = np.float32(RATE * (1 - epoch / given.epochs))
        for at in range(0, len(order), BATCH):
            chosen = order[at : at + BATCH]
            train(images[chosen], digits[chosen], slower)
    seconds = time.perf_counter() - start
    found = read(held_out)
    accuracy = float((found == answers).mean())
    print(f"{given.epochs} epochs in {seconds:.1f} s: {accuracy:.2%} of {len(answers)} held-out digits read correctly")
    wrong = [(held_out[i], int(found[i]), int(answers[i])) for i in np.flatnonzero(found != answers)]
    draw(parameters[0].get_value(), wrong, given.output)
    print(f"picture: {given.output}")
    return 0 if accuracy > 0.98 or given.epochs < EPOCHS else 1


if __name__ == "__main__":
    sys.exit(main())
