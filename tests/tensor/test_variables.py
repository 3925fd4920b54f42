"""Operators and methods of tensor variables."""

import operator
from collections.abc import Callable
from typing import Any, get_args, get_origin

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import FunctionGraph, Variable
from treadle.link.vm import PythonLinker
from treadle.tensor import ShapeError, TensorTypeError

TABLE = np.arange(1.0, 7.0).reshape(2, 3)


def value_of(build: Callable[[Any], Any], *, dtype: str = "float64") -> Any:
    """Return the result of a function of one matrix at `TABLE`."""
    x = tt.tensor("x", dtype=dtype, ndim=2)
    return PythonLinker().link(FunctionGraph([x], [build(x)]))(TABLE.astype(dtype))[0]


@pytest.mark.parametrize(
    "apply",
    [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
     operator.lt, operator.le, operator.gt, operator.ge],
)  # fmt: skip
def test_operator_is_numpys_from_both_sides(apply: Any) -> None:
    np.testing.assert_allclose(value_of(lambda x: apply(x, 2.0)), apply(TABLE, 2.0))
    np.testing.assert_allclose(value_of(lambda x: apply(2.0, x)), apply(2.0, TABLE))
    np.testing.assert_allclose(value_of(lambda x: apply(TABLE, x)), apply(TABLE, TABLE))


@pytest.mark.parametrize("apply", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift])
def test_bitwise_operator_is_numpys_from_both_sides(apply: Any) -> None:
    whole = TABLE.astype("int64")
    np.testing.assert_array_equal(value_of(lambda x: apply(x, 2), dtype="int64"), apply(whole, 2))
    np.testing.assert_array_equal(value_of(lambda x: apply(2, x), dtype="int64"), apply(2, whole))


METHODS: dict[str, Callable[[Any], Any]] = {
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose(1, 0),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "reshape": lambda x: x.reshape(3, -1),
    "flatten": lambda x: x.flatten(),
    "ravel": lambda x: x.ravel(),
    "sum": lambda x: x.sum(axis=0),
    "prod": lambda x: x.prod(),
    "mean": lambda x: x.mean(axis=1, keepdims=True),
    "var": lambda x: x.var(ddof=1),
    "std": lambda x: x.std(axis=0),
    "max": lambda x: x.max(axis=-1),
    "min": lambda x: x.min(),
    "argmax": lambda x: x.argmax(axis=1),
    "argmin": lambda x: x.argmin(),
    "all": lambda x: x.all(),
    "any": lambda x: x.any(axis=0),
    "clip": lambda x: x.clip(2, 4),
    "round": lambda x: x.round(),
    "copy": lambda x: x.copy(),
    "dot": lambda x: x.dot(x.T),
    "take": lambda x: x.take([2, 0], axis=1),
    "astype": lambda x: x.astype("int8"),
    "abs": abs,
    "neg": operator.neg,
    "matmul": lambda x: x @ x.T,
}


@pytest.mark.parametrize("name", METHODS)
def test_method_is_numpys(name: str) -> None:
    result, expected = value_of(METHODS[name]), METHODS[name](TABLE)
    np.testing.assert_allclose(result, expected, rtol=1e-14)
    assert result.dtype == np.asarray(expected).dtype


def test_equality_is_identity_and_eq_compares_elements() -> None:
    x, y = tt.vectors("x", "y")
    assert x == x
    assert (x == y) is False
    assert x.eq(y).dtype == "bool"


def test_variable_has_no_truth_value() -> None:
    with pytest.raises(TensorTypeError, match="Use where"):
        bool(tt.dvector("x") > 0)


def test_length_and_iteration_need_a_known_length() -> None:
    known = tt.tensor(dtype="float64", shape=(3, None))
    assert len(known) == 3
    assert [v.ndim for v in known] == [1, 1, 1]
    with pytest.raises(TensorTypeError, match=r"x\.shape\[0\]"):
        len(tt.dvector("x"))
    with pytest.raises(TensorTypeError, match="not known"):
        list(tt.dvector("x"))


def test_known_length_is_a_constant() -> None:
    x = tt.tensor(dtype="float64", shape=(3, None))
    lengths: Any = [x.shape[0], x.shape[1]]
    assert tt.get_underlying_scalar_constant_value(lengths[0]) == 3
    assert lengths[1].owner.op == tt.ShapeI(1)


# Static shapes


@pytest.mark.parametrize(
    ("a", "b", "joint"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 1), (1, 3), (2, 3)),
        ((None, 3), (2, None), (2, 3)),
        ((None,), (1,), (None,)),
        ((None,), (None,), (None,)),
        ((), (4,), (4,)),
    ],
)
def test_broadcasting_finds_what_can_be_known(a: Any, b: Any, joint: Any) -> None:
    x, y = (tt.tensor(dtype="float64", shape=shape) for shape in (a, b))
    assert (x + y).type.shape == joint


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (lambda x: x.T, (3, None)),
        (lambda x: x.reshape((3, -1)), (3, None)),
        (lambda x: x.sum(axis=0), (3,)),
        (lambda x: x.sum(axis=0, keepdims=True), (1, 3)),
        (lambda x: x[:, ::2], (None, 2)),
        (lambda x: x[1:], (None, 3)),
        (lambda x: x[:, None, 0], (None, 1)),
        (lambda x: x[[0, 1]], (2, 3)),
        (lambda x: x @ x.T, (None, None)),
        (lambda x: tt.join(1, x, x), (None, 6)),
        (lambda x: tt.stack([x, x]), (2, None, 3)),
        (lambda x: tt.softmax(x, axis=0), (None, 3)),
        (lambda _: tt.zeros((2, 3)), (2, 3)),
        (lambda _: tt.arange(2, 9, 3), (3,)),
    ],
)
def test_static_shape_holds_what_is_known(build: Any, shape: Any) -> None:
    assert build(tt.tensor("x", dtype="float64", shape=(None, 3))).type.shape == shape


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: x + np.ones((2, 4)), "dimension 1 has lengths 3, 4"),
        (lambda x: x @ x, "inner lengths"),
        (lambda x: x.reshape((2, 2)), "6 elements"),
        (lambda x: x.reshape((-1, -1)), "one of them may be -1"),
        (lambda x: x.squeeze(0), "cannot be dropped"),
        (lambda x: tt.join(0, x, np.ones((2, 4))), "dimension 1 differ"),
        (lambda x: tt.broadcast_to(x, (2, 4)), "cannot be broadcast to 4"),
        (lambda x: x[0].set(np.ones(4)), "do not fit a part"),
    ],
)
def test_shapes_known_to_clash_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        build(tt.tensor("x", dtype="float64", shape=(2, 3)))


def test_axis_out_of_range_is_refused() -> None:
    x = tt.dmatrix("x")
    builds: list[Callable[[], Any]] = [
        lambda: x.sum(axis=2),
        lambda: x.transpose(0, 0),
        lambda: tt.expand_dims(x, 5),
    ]
    for build in builds:
        with pytest.raises(tt.AxisError):
            build()


def test_fill_gives_a_value_the_shape_of_a_tensor() -> None:
    x = tt.dmatrix("x")
    array = np.zeros((2, 3))
    for filled in (tt.fill(x, 3.0), x.fill(3.0)):
        np.testing.assert_array_equal(filled.eval({x: array}), np.full((2, 3), 3.0))
    assert tt.fill(x, np.int8(3)).dtype == "int8"


def test_flattening_known_lengths_gives_a_known_length() -> None:
    assert tt.flatten(tt.tensor3("x", shape=(None, 1, 1)), 2).type.shape == (None, 1)
    assert tt.tensor3("x", shape=(2, 3, 4)).flatten(np.int64(2)).type.shape == (2, 12)
    assert tt.flatten(tt.matrix("x", shape=(2, None))).type.shape == (None,)


def test_tensors_are_the_inputs_of_a_node_themselves() -> None:
    node = tt.add.make_node(tt.vector("x"), 1)
    assert tt.tensors(node.inputs) is node.inputs


def test_classes_of_variables_and_nodes_can_be_subscripted() -> None:
    assert get_origin(Variable[tt.TensorType]) is Variable
    assert get_args(tt.TensorNode) == (tt.TensorVariable,)
