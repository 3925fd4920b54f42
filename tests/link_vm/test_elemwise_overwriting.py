"""Elementwise results of the VM that are written over an operand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.tensor.lower_vm.elemwise import LARGE, lower


def writing_over_the_first(*shapes: tuple[int, ...]) -> tuple[Callable[..., np.ndarray], list[np.ndarray]]:
    operands = [tt.tensor(dtype="float64", shape=(None,) * len(shape)) for shape in shapes]
    op = tt.Elemwise(tt.add.scalar_op, {0: 0})
    node: Any = op.make_node(*operands)
    function = lower(op, node)
    assert function is not None
    return function, [np.full(shape, float(at + 1)) for at, shape in enumerate(shapes)]


@pytest.mark.parametrize("size", [LARGE, LARGE + 1])
def test_large_operand_takes_the_result(size: int) -> None:
    add, (x, y) = writing_over_the_first((size,), (size,))
    assert add(x, y) is x
    assert x[0] == 3.0


def test_small_operand_stays_as_it_is() -> None:
    add, (x, y) = writing_over_the_first((LARGE - 1,), (LARGE - 1,))
    assert add(x, y)[0] == 3.0
    assert x[0] == 1.0


def test_operand_that_is_broadcast_stays_as_it_is() -> None:
    add, (x, y) = writing_over_the_first((1, LARGE), (3, LARGE))
    assert add(x, y).shape == (3, LARGE)
    assert x[0, 0] == 1.0


def test_operand_that_may_not_be_written_stays_as_it_is() -> None:
    add, (x, y) = writing_over_the_first((LARGE,), (LARGE,))
    x.flags.writeable = False
    assert add(x, y)[0] == 3.0
    assert x[0] == 1.0
