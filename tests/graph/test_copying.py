"""DeepCopyOp and ViewOp."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import DeepCopyOp, FunctionGraph, ViewOp, deep_copy_op, view_op
from treadle.link.vm import PythonLinker


@pytest.mark.documents("DeepCopyOp", "ViewOp", "deep_copy_op", "view_op")
def test_copy_shares_no_memory_and_view_all() -> None:
    x = tt.dmatrix("x")
    array = np.ones((2, 3))
    copied, viewed = PythonLinker().link(FunctionGraph([x], [deep_copy_op(x), view_op(x)], clone=False))(array)
    assert not np.shares_memory(array, copied)
    assert viewed is array
    assert copied.tolist() == array.tolist()


def test_ops_compare_by_class() -> None:
    assert deep_copy_op == DeepCopyOp()
    assert view_op == ViewOp()
    assert deep_copy_op != view_op


@pytest.mark.parametrize("op", [deep_copy_op, view_op])
def test_derivatives_and_shapes_pass_through(op: Any) -> None:
    x = tt.dvector("x")
    y = op(x)
    assert y.type == x.type
    assert function([x], tt.grad((y * y).sum(), x), mode="VM")([1.0, 2.0]).tolist() == [2.0, 4.0]
    assert function([x], y.shape[0], mode="VM")(np.ones(5)) == 5


def test_copy_of_a_constant_is_made_in_each_call() -> None:
    f = function([], deep_copy_op(tt.constant(np.ones(2))), mode="VM")
    f()[:] = 5.0
    assert f().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
def test_every_backend_lowers_both(mode: str) -> None:
    x, s = tt.dmatrix("x"), tt.fscalar("s")
    outputs = [tt.exp(op(v) + 1) for op in (deep_copy_op, view_op) for v in (x, x.T[::-1], s)]
    array = np.arange(6.0).reshape(2, 3)
    wanted = [np.exp(v + 1) for v in (array, array.T[::-1], np.float32(2))] * 2
    for result, value in zip(function([x, s], outputs, mode=mode)(array, np.float32(2)), wanted, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-6)
