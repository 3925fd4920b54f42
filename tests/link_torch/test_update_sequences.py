"""Functions that read and update the same values, drawn at random, in turns: PyTorch beside the Python VM."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from treadle.compile import Out, function, shared
from treadle.graph import NodeError
from treadle.link.torch.programs.updates import _LEAST_REUSED

ROWS, COLUMNS = 5, _LEAST_REUSED // 32
CALLS = 5


class State(NamedTuple):
    """Shared variables of one backend."""

    a: Any
    b: Any
    n: Any


def new_state() -> State:
    values = np.arange(ROWS * COLUMNS, dtype="float64").reshape(ROWS, COLUMNS)
    return State(shared(values), shared(1 - values.T.copy().T), shared(np.zeros(3, "int64")))


m, x, k, i = tt.dmatrix("m"), tt.dvector("x"), tt.lscalar("k"), tt.lvector("i")


def draw_index(rng: np.random.Generator) -> Any:
    """Return an index of a matrix: numbers, slices of every kind, positions."""
    start, stop = (int(v) for v in rng.integers(-7, 8, 2))
    kinds: list[Any] = [
        int(rng.integers(-ROWS, ROWS)), k, i, slice(start, stop), slice(None, None, -1), slice(start, stop, 2),
        slice(stop, start, -2), slice(k, None), slice(0, 0), [1, 1, -2], (slice(None), [0, 0, 3]), (i, slice(1, 9, 3)),
        (i, i), (slice(k, None, 2), -1), (k, slice(None, None, -3)),
    ]  # fmt: skip
    return kinds[rng.integers(len(kinds))]


def draw_change(rng: np.random.Generator, old: Any, other: Any) -> Any:
    """Return a new value of a matrix."""
    part = old[draw_index(rng)]
    values: Any = [1.5, x.sum(), other[0].sum() * k, (other + old).max(), part / 2, part[::-1] if part.ndim else part]
    scalar = values[rng.integers(len(values))]
    wholes: list[Any] = [old - 0.5 * m, m * 0.25 + old[::-1], tt.where(old > 2, old, m), other + m, old * x[0], -old]
    kind = rng.integers(6)
    if kind == 0:
        return part.set(scalar)
    if kind == 1:
        return part.inc(scalar)
    if kind == 2:
        changed = part.inc(scalar)
        return changed[draw_index(rng)].set(other.sum())
    if kind == 3:
        return old[1:].set(old[:-1])
    if kind == 4:
        return old[i].inc(m[i])
    return wholes[rng.integers(len(wholes))]


def draw_function(seed: int, state: State, mode: str) -> Any:
    """Return a function of the state; the same for every mode."""
    rng = np.random.default_rng(seed)
    a, b, n = state
    new_a = draw_change(rng, a, b)
    new_b = a if rng.random() < 0.1 else draw_change(rng, b, a)
    chosen = rng.random(3) < (0.8, 0.5, 0.5)
    pairs = ((a, new_a), (b, new_b), (n, n[i[:1] % 3].inc(1)))
    updates = {v: new for (v, new), use in zip(pairs, chosen, strict=True) if use}
    results = [
        a.sum(), Out(a, borrow=True), Out(b.T, borrow=True), Out(a[draw_index(rng)], borrow=True), b[::-1, 1:3], n + k,
        Out(a.reshape((COLUMNS, ROWS)), borrow=True), new_a.sum(), new_a, x * 2, m,
    ]  # fmt: skip
    outputs = [results[at] for at in rng.choice(len(results), 2, replace=False)]
    return function([m, x, k, i], outputs, updates=updates, mode=mode, on_unused_input="ignore")


def draw_arguments(rng: np.random.Generator) -> list[Any]:
    """Return arguments: arrays and tensors of several layouts, positions that may be out of bounds."""
    matrix = rng.integers(-3, 4, (ROWS, COLUMNS)).astype("float64")
    layouts: list[Any] = [
        matrix, np.asfortranarray(matrix), matrix[::-1].copy()[::-1], np.repeat(matrix, 2, axis=1)[:, ::2],
        torch.from_numpy(matrix), torch.tensor(matrix, requires_grad=True), torch.tensor(matrix.T.copy()).T,
    ]  # fmt: skip
    vector = rng.integers(-3, 4, 4).astype("float64")
    positions = rng.integers(-ROWS, ROWS + (rng.random() < 0.1), int(rng.integers(0, 4)))
    return [
        layouts[rng.integers(len(layouts))],
        vector if rng.random() < 0.5 else torch.from_numpy(vector),
        np.array(rng.integers(-2, 3)),
        torch.from_numpy(positions) if rng.random() < 0.3 else positions,
    ]


def host(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def outcome(call: Any, arguments: Any) -> list[Any] | type[BaseException]:
    """Return the results, or the class of the error."""
    try:
        results: list[Any] = call(*arguments)
    except NodeError as error:
        return type(error)
    return results


@pytest.mark.parametrize("seed", range(12))
def test_functions_in_turns_do_what_they_do_on_the_vm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states = {mode: new_state() for mode in ("VM", "PYTORCH")}
    functions = {
        mode: [draw_function(100 * seed + at, state, mode) for at in range(3)] for mode, state in states.items()
    }
    kept: list[tuple[Any, Any]] = []
    for _ in range(3 * CALLS):
        at, arguments = int(rng.integers(3)), draw_arguments(rng)
        before = [host(v).copy() for v in arguments]
        expected = outcome(functions["VM"][at], [np.array(v) for v in before])
        results = outcome(functions["PYTORCH"][at], arguments)
        if isinstance(expected, type) or isinstance(results, type):
            assert results is expected
        else:
            kept += [(host(got), host(want).copy()) for got, want in zip(results, expected, strict=True)]
        if rng.random() < 0.2:
            kept.append(
                (
                    host(states["PYTORCH"].a.get_value(borrow=True, return_internal_type=True)),
                    states["VM"].a.get_value(),
                )
            )
        for variable, reference in zip(states["PYTORCH"], states["VM"], strict=True):
            np.testing.assert_allclose(variable.get_value(), reference.get_value(), rtol=1e-12)
        for value, old in zip(arguments, before, strict=True):
            np.testing.assert_array_equal(host(value), old)
    # Nothing that a call returned has changed since.
    for got, want in kept:
        np.testing.assert_allclose(got, want, rtol=1e-12)
