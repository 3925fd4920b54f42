"""Values that decide shapes: Python integers, known while the program is traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from tests.link_torch.programs import check, link, tensor
from treadle.compile import function
from treadle.config import config


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


def test_a_length_that_the_program_computes_is_read_from_its_tensor_once() -> None:
    x, y = tt.dmatrix("x"), tt.dvector("y")
    n = tt.argmax(tt.dot(x, y))
    values = [np.arange(12.0).reshape(3, 4) % 7, np.ones(4)]
    check([x, y], [tt.zeros((n,)), x[n:], n + 1], values)
    assert link([x, y], [tt.zeros((n,)), x[n:]]).source.count(".tolist()") == 1
    lengths = tt.cast(tt.floor(y), "int64")
    check([y], [tt.reshape(tt.arange(6), lengths, ndim=2), tt.repeat(y, lengths)], [np.array([2.5, 3.5])])


def test_a_function_of_a_computed_length_is_never_compiled_and_checks_it() -> None:
    x = tt.dvector("x")
    with config.change_flags(torch__compile=True):
        f = function([x], tt.zeros((tt.cast(tt.floor(x.sum()), "int64"),)), mode="PYTORCH")
    assert [f(np.array([k + 0.5])).shape for k in (3, 0, 2)] == [(3,), (0,), (2,)]
    with pytest.raises(ValueError, match=r"must be non-negative.*test_staging"):
        f(np.array([-2.0]))


def test_gradients_through_a_mask_have_lengths_that_data_decide() -> None:
    x = tt.dmatrix("x")
    chosen = x[x > 0.2]
    (slope,) = tt.grad(tt.exp(chosen).sum() + tt.sort(chosen)[0], [x])
    inputs = [np.random.default_rng(3).normal(size=(5, 3))]
    check([x], [slope, tt.grad(tt.sqr(slope).sum(), x)], inputs)


def test_lengths_in_the_body_of_a_loop_may_depend_on_its_carry() -> None:
    x = tt.dmatrix("x")

    def body(total: Any, row: Any) -> tuple[Any, Any]:
        return total + row[row > total].sum(), tt.arange(tt.sum(row > total)).sum()

    total, sums = tt.scan_with_carry(body, tt.as_tensor(0.0), x)
    f, expected = (function([x], [total, sums, tt.grad(total, x)], mode=mode) for mode in ("PYTORCH", "VM"))
    value = np.random.default_rng(4).normal(size=(4, 3))
    for a, b in zip(f(value), expected(value), strict=True):
        np.testing.assert_allclose(a, b)


def test_torch_function_with_a_computed_length_has_derivatives_and_batches() -> None:
    x = tt.dvector("x")
    compiled: Any = function([x], tt.sqr(x[x > 0]).sum(), mode="PYTORCH")
    f = compiled.torch_function
    value = torch.tensor([-1.0, 2.0, 3.0], dtype=torch.float64)
    assert torch.func.grad(f)(value).tolist() == [0.0, 4.0, 6.0]
    assert torch.vmap(f)(torch.stack([value, -value])).tolist() == [13.0, 1.0]


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


def test_what_python_integers_cannot_do_with_a_computed_shape_is_done_with_tensors() -> None:
    x, y = tt.dmatrix("x"), tt.lvector("y")
    half = tt.cast(tt.exp(x[y].shape[0]), "int64")
    check([x, y], [tt.zeros((half,))], [np.ones((3, 2)), np.array([0, 2])])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint16", "complex128"])
def test_a_range_of_floats_whose_bounds_the_program_computes_is_that_of_numpy(dtype: str) -> None:
    x, step, n = tt.dmatrix("x"), tt.dscalar("step"), tt.lscalar("n")
    stop, whole = x.max(), tt.cast(x.shape[0], "float64")
    outputs = [
        tt.arange(0.1, stop, 0.3, dtype=dtype),
        tt.arange(stop, x.min() * 3, -step, dtype=dtype) * 2,
        tt.arange(n, tt.cast(stop, "float32"), step, dtype=dtype).shape[0] + n,
        tt.arange(whole, stop, step, dtype=dtype),
        tt.arange(stop, stop, 1.0, dtype=dtype),
    ]
    check([x, step, n], outputs, [np.arange(6.0).reshape(2, 3) * 1.7, np.array(0.7), np.array(1)])


def test_a_computed_range_of_floats_is_never_compiled_and_checks_its_bounds() -> None:
    x = tt.dvector("x")
    total = tt.sin(tt.arange(x[0], x.sum(), x[1])).sum()
    with config.change_flags(torch__compile=True):
        f = function([x], [total, tt.grad(total, x)], mode="PYTORCH")
    expected = function([x], [total, tt.grad(total, x)], mode="VM")
    for last in (3.0, 4.5):
        value = np.array([0.5, 0.25, last])
        for got, want in zip(f(value), expected(value), strict=True):
            np.testing.assert_allclose(got, want)
    for step, message in ((0.0, "the step is 0"), (np.nan, "cannot compute length"), (1e-300, "Maximum allowed size")):
        with pytest.raises(ValueError, match=rf"(?s){message}.*test_staging"):
            f(np.array([0.5, step, 3.0]))
