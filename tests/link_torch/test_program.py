"""What a program takes and returns: ownership, native values, inputs of any layout, processes."""

from __future__ import annotations

import itertools
import multiprocessing
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from tests.link_torch.programs import link
from treadle.link.torch import ForkedProcessError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def aliasing_outputs(x: Any) -> list[Any]:
    """Return outputs that are, or may be, views of an input, of a constant, or of each other."""
    twice = x * 2
    constant = tt.constant(np.ones((2, 3)))
    return [x, x, x.T, x[0], x.reshape((6,)), twice, twice, twice.T, twice[:1], constant, tt.broadcast_to(x[0], (4, 3))]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("native", [False, True])
def test_outputs_share_memory_with_nothing(compiled: bool, native: bool) -> None:
    x = tt.dmatrix("x")
    outputs = aliasing_outputs(x)
    program = link([x], outputs, compiled, range(len(outputs)) if native else ())
    value = np.arange(6.0).reshape(2, 3)
    first, second = program(value), program(value)
    if native:
        assert all(isinstance(a, torch.Tensor) for a in first)
        first, second = [a.numpy() for a in first], [a.numpy() for a in second]
    assert all(a.flags.writeable for a in first)
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations([*first, *second, value], 2))
    for array in first:
        array[...] = -1
    assert [a.tolist() for a in program(value)] == [a.tolist() for a in second]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "uint32", "uint64", "int64", "float16", "float64"])
def test_native_values_have_the_dtype_and_go_in_again(dtype: str) -> None:
    x = tt.TensorType(dtype, (None,))("x")
    value = np.array([0, 1, 1], dtype)
    program = link([x], [x], native=[0])
    (native,) = program(value)
    assert native.dtype == getattr(torch, dtype)
    (again,) = program(native)
    fetched = program.fetch(again, x.type)
    np.testing.assert_array_equal(fetched, value)
    fetched[...] = 0
    np.testing.assert_array_equal(again.to(torch.float64).numpy(), value.astype(float))


def test_inputs_may_be_read_only_reversed_strided_or_of_rank_0() -> None:
    x, y = tt.dvector("x"), tt.dscalar("y")
    program = link([x, y], [x * y])
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    field = np.zeros(4, dtype=[("a", "i1"), ("b", "f8")])
    field["b"] = np.arange(4.0)
    for value in (frozen, np.arange(4.0)[::-1], np.arange(8.0)[::2], field["b"]):
        np.testing.assert_array_equal(program(value, np.array(2.0))[0], np.asarray(value) * 2)


def test_a_tensor_that_records_gradients_is_taken_by_value() -> None:
    x = tt.dvector("x")
    (result,) = link([x], [x * 2])(torch.ones(3, dtype=torch.float64, requires_grad=True))
    assert result.tolist() == [2.0, 2.0, 2.0]


def test_a_value_that_is_unused_is_not_converted() -> None:
    x, y = tt.dvector("x"), tt.dmatrix("y")
    program = link([x, y], [x + 1, tt.constant(3.0)])
    assert "a1" not in program.source
    assert [a.tolist() for a in program(np.zeros(1), np.zeros((1, 1)))] == [[1.0], 3.0]


def _call_in_child(program: Any, results: Connection) -> None:
    try:
        program(np.zeros(2))
    except ForkedProcessError as error:
        results.send(str(error))
    else:
        results.send("computed")


def test_a_program_used_before_a_fork_raises_in_the_child_and_names_spawn() -> None:
    x = tt.dvector("x")
    program = link([x], [x + 1])
    program(np.zeros(2))
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_call_in_child, args=(program, there))
    with warnings.catch_warnings():
        # Python 3.12 warns of forking with threads: that is what the test is about.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    assert here.poll(60)
    message = here.recv()
    child.join(60)
    assert "spawn" in message
