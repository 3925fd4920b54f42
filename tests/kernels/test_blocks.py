"""Batches that operands are broadcast to: lines, and where each operand's elements are, are NumPy's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from treadle.config import config
from treadle.kernels import kernel
from treadle.kernels.blocks import (
    MOST_DIMENSIONS,
    MOST_OPERANDS,
    TABLE_ROW,
    add_operand,
    begin_batch,
    first_line,
    merged,
    next_line,
    set_length,
)
from treadle.kernels.language import OK, SHAPE, Pointer, Vector, int64, local
from treadle.testing import check_kernel


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with config.change_flags(compiledir=tmp_path_factory.mktemp("blocks")):
        yield


@kernel
def paired(
    lengths: Vector[int64], n0: Vector[int64], s0: Vector[int64], n1: Vector[int64], s1: Vector[int64],
    x: Pointer[int64], y: Pointer[int64], o: Pointer[int64], dims: Pointer[int64], *, grows: bool,
) -> int:  # fmt: skip
    """Write 1000 x + y of each element of a batch of two operands; dims gets the number of dimensions that are left."""
    table = local(int64, TABLE_ROW * 8)
    rank = len(lengths)
    begin_batch(table, rank)
    if not grows:
        for d in range(rank):
            set_length(table, d, lengths[d])
    for e in range(rank):
        if add_operand(table, e, 0, n0[e], s0[e], grows=grows) != OK:
            return SHAPE
        if add_operand(table, e, 1, n1[e], s1[e], grows=grows) != OK:
            return SHAPE
    last = merged(table, rank)
    dims[0] = last
    lines = 1
    for c in range(last - 1):
        lines = lines * table[TABLE_ROW * c]
    row = table + TABLE_ROW * (last - 1)
    index = local(int64, MOST_DIMENSIONS)
    places = local(int64, MOST_OPERANDS)
    first_line(index, places, last)
    done = 0
    for _ in range(lines):
        for i in range(row[0]):
            o[done] = 1000 * x[places[0] + i * row[1]] + y[places[1] + i * row[2]]
            done += 1
        next_line(table, last, index, places)
    return OK


def _arguments(x: np.ndarray, y: np.ndarray, lengths: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    parts, memory = [np.array(lengths, "int64")], []
    for each in (x, y):
        assert each.base is not None
        memory.append(each.base.reshape(-1))
        parts += [np.array(each.shape, "int64"), np.array(each.strides, "int64") // 8]
    size = int(np.prod(lengths))
    return (*parts, *memory, np.zeros(size + 1, "int64"), np.zeros(1, "int64"))


def _operand(rng: np.random.Generator, lengths: tuple[int, ...]) -> np.ndarray:
    """Return an array that is broadcast to the lengths, its axes in any order in memory."""
    own = [n if rng.random() < 0.7 else 1 for n in lengths]
    order = rng.permutation(len(own)) if rng.random() < 0.5 else np.arange(len(own))
    base = np.arange(int(np.prod(own)) + 1)[1:] if 0 not in own else np.zeros(0, "int64")
    memory = base.copy().reshape([own[k] for k in order])
    return memory.transpose(np.argsort(order))


@pytest.mark.parametrize(
    "lengths", [(1,), (5,), (3, 4), (3, 1, 4), (2, 3, 4), (1, 1, 1), (2, 1, 3, 2), (0, 3), (3, 0), (2, 3, 2, 2, 2)]
)
@pytest.mark.parametrize("grows", [False, True])
def test_lines_reach_all_elements_in_order(lengths: tuple[int, ...], grows: bool) -> None:
    rng = np.random.default_rng(len(lengths) + 7 * grows)
    for _ in range(3):
        x, y = _operand(rng, lengths), _operand(rng, lengths)
        batch = np.broadcast_shapes(x.shape, y.shape) if grows else lengths
        arguments = _arguments(x, y, batch)
        assert paired(*arguments, grows=grows) == OK
        expected = np.broadcast_to(1000 * x + y, batch).reshape(-1)
        np.testing.assert_array_equal(arguments[-2][:-1], expected)


def test_lines_are_the_same_on_all_backends() -> None:
    rng = np.random.default_rng(3)
    for lengths in ((3, 4), (2, 1, 3, 2)):
        x, y = _operand(rng, lengths), _operand(rng, lengths)
        for grows in (False, True):
            batch = np.broadcast_shapes(x.shape, y.shape) if grows else lengths
            check_kernel(paired, *_arguments(x, y, batch), grows=grows)


def test_dimensions_that_follow_each_other_become_one() -> None:
    x = np.arange(24).reshape(2, 3, 4)[:]
    for y, left in ((np.array([[[5]]])[:], 1), (x, 1), (np.arange(4).reshape(1, 1, 4)[:], 2), (x.copy().T.copy().T, 3)):
        arguments = _arguments(x, y, (2, 3, 4))
        assert paired(*arguments, grows=False) == OK
        assert arguments[-1][0] == left


def test_operands_that_do_not_fit_are_refused() -> None:
    x, y = np.zeros((3, 1), "int64")[:], np.zeros((2, 1), "int64")[:]
    for grows in (False, True):
        assert paired(*_arguments(x, y, (3, 1)), grows=grows) == SHAPE
