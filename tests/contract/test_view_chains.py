"""Views of views of computed values: every backend reads, overwrites and reshapes the elements that NumPy does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import function

if TYPE_CHECKING:
    from collections.abc import Callable

    # What takes an array of NumPy or a tensor alike.
    Step = Callable[[Any], Any]

SHAPES = ((3, 4), (4, 3), (2, 3, 4), (1, 4), (4, 1), (2, 1, 3), (5,))
ENTRIES: tuple[Any, ...] = (slice(None), slice(None), 0, 0, -1, slice(1, None), slice(None, None, -1))
# Functions per backend, chains in each.
FUNCTIONS, CHAINS = 2, 40


def views(rng: np.random.Generator, shape: tuple[int, ...]) -> Step:
    """Return a random view of an array of some shape."""
    kind, ndim = rng.integers(6), len(shape)
    if kind >= 3 and ndim:
        chosen = [ENTRIES[i] for i in rng.integers(len(ENTRIES), size=ndim)]
        entries = [entry if n else slice(None) for entry, n in zip(chosen, shape, strict=True)]
        return lambda x: x[tuple(entries)]
    if kind == 1:
        at = int(rng.integers(ndim + 1))
        return lambda x: x[(*[slice(None)] * at, None)]
    if kind == 2 and ndim > 1:
        order = rng.permutation(ndim).tolist()
        return lambda x: x.transpose(order)
    return lambda x: x.reshape(-1)


def uses(rng: np.random.Generator, ndim: int) -> Step:
    """Return a random use of a view, which writes a result of its own."""
    kind = rng.integers(6)
    axis = int(rng.integers(ndim)) if ndim else None
    if kind == 0:
        return lambda x: x * 2 + 1
    if kind == 1:
        return lambda x: x.sum(axis)
    if kind == 2:
        return lambda x: x.reshape(-1) * 3
    if kind == 3 and ndim:
        return lambda x: x.cumsum(axis)
    if kind == 4 and ndim:
        return lambda x: x[::-1] - x
    return lambda x: x - x.max(axis) if axis in {None, 0} else x


def chain(rng: np.random.Generator) -> tuple[np.ndarray, Step]:
    """Return an array, and what is done with it: it is computed with, viewed one to three times, and used."""
    x = rng.integers(1, 9, SHAPES[rng.integers(len(SHAPES))]).astype("float64")
    steps: list[Step] = []
    first = int(rng.integers(x.ndim))
    value = x

    def do(step: Step) -> None:
        nonlocal value
        steps.append(step)
        value = np.asarray(step(value))

    do(lambda a: a.cumsum(first))
    for _ in range(rng.integers(1, 4)):
        do(views(rng, value.shape))
    if value.size:
        do(uses(rng, value.ndim))

    def whole(a: Any) -> Any:
        for step in steps:
            a = step(a)
        return a

    return x, whole


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("are_known", [True, False], ids=["known", "open"])
def test_views_of_views_have_numpys_elements(backend: str, are_known: bool) -> None:
    rng = np.random.default_rng(4)
    for _ in range(FUNCTIONS):
        chains = [chain(rng) for _ in range(CHAINS)]
        inputs = [tt.tensor(dtype="float64", shape=x.shape if are_known else (None,) * x.ndim) for x, _ in chains]
        outputs = [whole(v) for v, (_, whole) in zip(inputs, chains, strict=True)]
        results = function(inputs, outputs, mode=backend.upper())(*(x.copy() for x, _ in chains))
        for k, (result, (x, whole)) in enumerate(zip(results, chains, strict=True)):
            np.testing.assert_array_equal(result, whole(x), err_msg=f"chain {k} of {x.shape}")
