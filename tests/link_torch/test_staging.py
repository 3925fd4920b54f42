"""Values that decide shapes: Python integers, known while the program is traced."""

from __future__ import annotations

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_torch.programs import check, link, tensor
from treadle.graph import LoweringError


def test_lengths_are_computed_with_python_integers_inside_the_program() -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")
    program = link([x, n], [tt.zeros((x.shape[0] * 2 + n, 3))])
    assert program.source == (
        "def run(a0, n1, c0):\n"
        "    h1 = f0(a0)\n"
        "    h2 = f1(h1, 2)\n"
        "    h3 = f2(h2, n1)\n"
        "    v2 = f3(c0, h3, 3)\n"
        "    return [None, v2]\n"
    )
    assert program(np.zeros((2, 1)), np.array(3))[0].shape == (7, 3)


def test_a_length_used_as_a_number_too_becomes_a_tensor() -> None:
    x = tt.dmatrix("x")
    n = x.shape[0]
    check([x], [tt.zeros((n,)) + n, n, tt.shape(x), x.sum() / n], [np.ones((3, 2))])


def test_shapes_are_cut_joined_and_multiplied() -> None:
    x, s = tensor("float64", 3), tensor("int64", 1)
    shape = tt.shape(x)
    outputs = [
        tt.reshape(x, (tt.prod(shape),)),
        tt.reshape(x, tt.concatenate([shape[:1] * shape[1:2], shape[2:]]), ndim=2),
        tt.reshape(x, s, ndim=2),
        tt.zeros((tt.maximum(x.shape[0], 2) // 2 % 3, tt.switch(x.shape[1] > 2, 1, 5))),
        tt.zeros((s.sum(),)),
        tt.arange(0.0, tt.cast(s[0], "float64"), 0.25),
    ]
    check([x, s], outputs, [np.arange(24.0).reshape(2, 3, 4), np.array([4, 6])])


def test_a_shape_that_depends_on_computed_values_is_refused_naming_op_and_line() -> None:
    x, y = tt.dmatrix("x"), tt.dvector("y")
    n = tt.argmax(tt.dot(x, y))
    with pytest.raises(LoweringError, match=r"(?s)Subtensor.*computed by Argmax.*test_staging\.py.*\"n = tt\.argmax"):
        link([x, y], [tt.zeros((n,)), x[n:]])


def test_step_0_of_a_slice_is_a_value_error() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    program = link([x, n], [x[::n]])
    assert program(np.arange(4.0), np.array(-2))[0].tolist() == [3.0, 1.0]
    with pytest.raises(ValueError, match="test_staging"):
        program(np.arange(4.0), np.array(0))


def test_any_op_may_stand_between_small_inputs_and_a_shape() -> None:
    s = tt.lvector("s")
    table = tt.outer(s, s)
    check([s], [tt.zeros((table.max(), table[0, 1]))], [np.array([1, 2])])


def test_what_python_integers_cannot_do_with_a_computed_shape_is_refused() -> None:
    x, y = tt.dmatrix("x"), tt.lvector("y")
    half = tt.cast(tt.exp(x[y].shape[0]), "int64")
    with pytest.raises(LoweringError, match="computes from the shape of a tensor that the program computes"):
        link([x, y], [tt.zeros((half,))])
