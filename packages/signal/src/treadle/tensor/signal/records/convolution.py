"""Records of convolutions, their gradients, and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import SMALL, Array
from treadle.testing.operands import SAME_SHAPE, of_shape
from treadle.testing.sample import COMPOSED, FLOATS, Function, Sample, Traits

F = "convolution"
LEFT_OUT = {tt.ConvND: ("bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64")}
_LOSSY = {"float32": (1e-4, 1e-4), "float64": (1e-11, 1e-11)}


def correlated(
    x: Array,
    w: Array,
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int = 1,
) -> Array:
    """Return the convolution, computed place by place from its definition."""
    x = np.pad(x, [(0, 0), (0, 0), *padding])
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    places = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *places), np.result_type(x, w))
    each, outputs = w.shape[1], w.shape[0] // groups
    axes = tuple(range(1, x.ndim))
    for at in np.ndindex(*places):
        spans = zip(at, stride, reach, dilation, strict=True)
        cut: tuple[slice, ...] = tuple(slice(i * s, i * s + r, d) for i, s, r, d in spans)
        window = x[(slice(None), slice(None), *cut)]
        for g in range(groups):
            own, mine = slice(g * each, (g + 1) * each), slice(g * outputs, (g + 1) * outputs)
            product = np.tensordot(window[:, own], w[mine], (axes, axes))
            out[:, mine, *at] = product
    return out


def _conv(
    name: str, images: tuple[int, ...], filters: tuple[int, ...], *how: object, **record: Unpack[Traits]
) -> Sample:
    stride, padding, dilation, groups = how
    op = tt.ConvND("output", stride, dilation, padding, groups)  # type: ignore[arg-type]  # given in order
    oracle = partial(correlated, stride=stride, padding=padding, dilation=dilation, groups=groups)  # type: ignore[arg-type]
    traits: Traits = {"dtypes": FLOATS, "variants": SAME_SHAPE, "wrt": (0, 1), "tolerances": _LOSSY, **record}
    return Sample(name, F, op, oracle, (of_shape(images, domain=SMALL), of_shape(filters, domain=SMALL)), **traits)


def _pool(name: str, build: Function, oracle: Function) -> Sample:
    x = of_shape((2, 4, 5), domain=SMALL)
    return Sample(name, F, build, oracle, (x,), ("float64",), (0,), variants=SAME_SHAPE, kinds=COMPOSED)


def _means(x: Array) -> Array:
    wide = np.pad(x, [(0, 0), (1, 1), (1, 1)])
    parts = [wide[:, i : i + 4 : 2, j : j + 5 : 2] for i in range(3) for j in range(3)]
    return np.asarray(sum(parts)) / 9


SAMPLES: tuple[Sample, ...] = (
    _conv("line", (2, 2, 7), (3, 2, 3), (1,), ((0, 0),), (1,), 1, dtypes=("int32", "int64", *FLOATS),
          refuses_empty=True),
    _conv("image", (2, 4, 5, 6), (6, 2, 2, 3), (2, 1), ((1, 2), (0, 1)), (1, 2), 2),
    _conv("volume", (1, 2, 3, 4, 3), (2, 2, 2, 2, 1), (1, 2, 1), ((0, 0), (1, 1), (0, 0)), (1, 1, 1), 1, order=1),
    _pool("max_pool", lambda x: tt.max_pool2d(x, 2, ceil_mode=True),
          lambda x: np.stack([[[b[i : i + 2, j : j + 2].max() for j in (0, 2, 4)] for i in (0, 2)] for b in x])),
    _pool("avg_pool", lambda x: tt.avg_pool2d(x, 3, 2, 1), _means),
)  # fmt: skip
