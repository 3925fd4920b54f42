"""What ops on named tensors are checked by, on every backend: the inputs and results are plain tensors with names."""

from __future__ import annotations

import numpy as np

from treadle import named
from treadle.testing.domain import SMALL, Array
from treadle.testing.operands import SAME_SHAPE, of_shape
from treadle.testing.sample import COMPOSED, Function, Sample

F = "composed.named"


def _sample(name: str, build: Function, oracle: Function, order: int = 1) -> Sample:
    """Return a record of an expression of a tensor of (a, b) and one of (b, c)."""

    def plain(x: object, y: object) -> object:
        result = build(named.as_xtensor(x, dims=("a", "b")), named.as_xtensor(y, dims=("b", "c")))
        return named.as_xtensor(result).values

    operands = (of_shape((2, 3), domain=SMALL), of_shape((3, 4), domain=SMALL))
    return Sample(
        name, F, plain, oracle, operands, ("float64",), (0, 1), order, variants=SAME_SHAPE, kinds=COMPOSED,
        tolerances={"float64": (1e-9, 1e-10)},
    )  # fmt: skip


def _written(x: Array, y: Array) -> Array:
    result = np.array(x)
    np.add.at(result, (np.array([0, 1, 1]), np.array([2, 0, 0])), y[:, 0])
    return result[:, ::-1].T * y[:, 1:3]


def _accumulated(x: Array, y: Array) -> Array:
    shifted = np.exp(y - y.max(0))
    return np.asarray(np.cumsum(x, 1) @ (shifted / shifted.sum(0)))


SAMPLES: tuple[Sample, ...] = (
    _sample("elements", lambda x, y: named.math.exp(x) * y + x.mean("b"),
            lambda x, y: np.exp(x)[:, :, None] * y + x.mean(1)[:, None, None]),
    _sample("places", lambda x, y: x.isel(a=("s", [0, 1, 1]), b=("s", [2, 0, 0])).inc(y.isel(c=0).rename(b="s"))
            .isel(b=slice(None, None, -1)).transpose().rename(a="c") * y.isel(c=slice(1, 3)), _written),
    _sample("products", lambda x, y: named.dot(x.cumsum("b"), named.math.softmax(y, "b")), _accumulated),
    _sample("shapes", lambda x, y: named.concat([x.T, y.rename(c="a")], "a").stack(q=("a", "b")).expand_dims(r=2),
            lambda x, y: np.broadcast_to(np.concatenate([x.T, y], 1).T.ravel(), (2, 18))),
)  # fmt: skip
RECORDS = SAMPLES
