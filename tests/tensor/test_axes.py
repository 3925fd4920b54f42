"""Axis arguments in every spelling that NumPy takes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor
from treadle.tensor import AxisError

# Ops and functions get arguments that their types do not allow.
tt: Any = treadle.tensor
X: Any = tt.dmatrix("X")
T: Any = tt.dtensor3("T")
SCALAR = tt.dscalar("a")

# Each takes one axis, here the second.
OF_ONE_AXIS: list[Callable[[Any], Any]] = [
    lambda n: tt.sum(X, axis=n),
    lambda n: tt.prod(X, n),
    X.mean,
    lambda n: X.std(axis=n),
    lambda n: tt.max(X, axis=n),
    X.argmin,
    X.all,
    lambda n: tt.ptp(X, n),
    lambda n: tt.softmax(X, axis=n),
    lambda n: tt.log_softmax(X, axis=n),
    lambda n: tt.logsumexp(X, axis=n),
    lambda n: tt.concatenate([X, X], axis=n),
    lambda n: tt.join(n, X, X),
    lambda n: tt.stack([X, X], axis=n),
    lambda n: tt.expand_dims(X, n),
    lambda n: tt.swapaxes(X, n, 0),
    lambda n: tt.moveaxis(X, n, 0),
    lambda n: tt.squeeze(tt.matrix("c", shape=(3, 1)), n),
    lambda n: X.dimshuffle(n, 0),
    lambda n: X.transpose(n, 0),
    lambda n: tt.shape_i(X, n),
]


@pytest.mark.parametrize("axis", [np.int64(1), np.int8(1), np.uint16(1), np.array(1), tt.constant(1)], ids=repr)
@pytest.mark.parametrize("use", OF_ONE_AXIS)
def test_every_kind_of_integer_is_an_axis(use: Callable[[Any], Any], axis: Any) -> None:
    result, expected = use(axis), use(1)
    assert (result.type, result.owner.op) == (expected.type, expected.owner.op)


@pytest.mark.parametrize(
    "axis", [True, np.True_, np.array(True), 1.0, "1", None, [[0, 1]], {1}, 5, -4, 2**70], ids=repr
)
@pytest.mark.parametrize("use", [lambda n: tt.stack([X, X], axis=n), lambda n: tt.swapaxes(X, n, 0)])
def test_value_that_is_not_an_axis_is_refused(use: Callable[[Any], Any], axis: Any) -> None:
    with pytest.raises(AxisError, match=r"^(stack|swapaxes): (an )?axis "):
        use(axis)


@pytest.mark.parametrize("axes", [(0, 2), [0, 2], np.array([0, 2]), range(0, 3, 2), tt.constant([0, 2])], ids=repr)
def test_several_axes_come_in_any_sequence(axes: Any) -> None:
    summed, wide = T.sum(axes), T.dimshuffle(0, 1, 2)
    assert summed.owner.op.axes == (0, 2)
    expanded: Any = tt.expand_dims(wide, axes)
    assert expanded.owner.op.order == ("x", 0, "x", 1, 2)


@pytest.mark.parametrize("axes", [np.array([1, 0]), [1, 0], (1, 0), range(1, -1, -1)], ids=repr)
def test_permutations_come_in_any_sequence(axes: Any) -> None:
    function: Any = tt.transpose
    assert X.transpose(axes).owner.op == function(X, axes).owner.op == X.dimshuffle(axes).owner.op == X.T.owner.op


@pytest.mark.parametrize(
    "reduce",
    [
        tt.sum,
        tt.prod,
        tt.max,
        tt.min,
        tt.mean,
        tt.var,
        tt.std,
        tt.all,
        tt.any,
        tt.argmax,
        tt.argmin,
        tt.ptp,
        tt.squeeze,
    ],
)
@pytest.mark.parametrize("axis", [0, -1, np.int64(0)])
def test_a_scalar_is_reduced_over_axis_0(reduce: Callable[..., Any], axis: Any) -> None:
    assert reduce(SCALAR, axis=axis).eval({SCALAR: 5.0}) == reduce(SCALAR).eval({SCALAR: 5.0})


@pytest.mark.parametrize("axis", [1, -2, (0,), [0]])
def test_other_axes_of_a_scalar_are_refused(axis: Any) -> None:
    with pytest.raises(AxisError, match=r"tensor of rank 0\. It has no axes"):
        tt.sum(SCALAR, axis=axis)


def test_moving_axes_needs_axes() -> None:
    with pytest.raises(AxisError, match="got None"):
        tt.moveaxis(X, None, None)


def test_transposing_needs_every_axis() -> None:
    with pytest.raises(AxisError, match=r"^transpose: 3 axes are needed"):
        tt.transpose(T, (1, 0))


@pytest.mark.parametrize("flag", ["no", 2, None, 1.0, np.ones(2)], ids=repr)
def test_value_that_is_not_a_flag_is_refused(flag: Any) -> None:
    for reduce in (tt.sum, tt.argmax, tt.logsumexp):
        with pytest.raises(TypeError, match=r"keepdims must be True or False, got"):
            reduce(X, axis=0, keepdims=flag)


@pytest.mark.parametrize("flag", [True, np.True_, 1, np.int64(1)], ids=repr)
def test_flags_are_truth_values_and_0_or_1(flag: Any) -> None:
    assert tt.sum(X, axis=0, keepdims=flag).type.shape == (1, None)


@pytest.mark.parametrize(
    ("op", "same"),
    [
        (tt.ARange(np.dtype("float64")), tt.ARange("float64")),
        (tt.Reduction("sum", [np.int64(0)], "f4", float), tt.Reduction("sum", (0,), "float32", "float64")),
        (tt.ArgReduction("argmax", np.array([0, 1])), tt.ArgReduction("argmax", (0, 1))),
        (tt.Softmax(1), tt.Softmax((1,))),
        (tt.LogSumExp([1]), tt.LogSumExp((1,))),
        (tt.Join(np.int64(1)), tt.Join(1)),
        (tt.ShapeI(np.array(0)), tt.ShapeI(0)),
        (tt.Reshape(np.int8(2)), tt.Reshape(2)),
        (tt.DimShuffle([np.int64(1), "x", 0], np.int64(2)), tt.DimShuffle((1, "x", 0), 2)),
    ],
)  # fmt: skip
def test_spelling_of_a_parameter_does_not_make_ops_different(op: Any, same: Any) -> None:
    assert op == same
    assert hash(op) == hash(same)
    assert str(op) == str(same)


def test_error_of_an_axis_is_also_numpys() -> None:
    with pytest.raises(np.exceptions.AxisError, match=r"^sum: axis 2 is out of range"):
        tt.sum(X, axis=2)
