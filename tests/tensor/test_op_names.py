"""Documented classes that stand for scalar ops and kinds of ops."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run, text
from treadle.compile import function
from treadle.surface.scalar_values import ScalarType, as_scalar, scalar_from_tensor, tensor_from_scalar

scalar: Any = importlib.import_module("treadle.scalar")
math: Any = importlib.import_module("treadle.tensor.math")


def op_of(x: tt.TensorVariable) -> Any:
    assert x.owner is not None
    return x.owner.op


def test_scalar_ops_are_instances_of_their_documented_classes() -> None:
    x = tt.dvector("x")
    assert isinstance(op_of(x * 2).scalar_op, scalar.Mul)
    assert isinstance(op_of(x + 2).scalar_op, (scalar.Mul, scalar.Add))
    assert not isinstance(op_of(x + 2).scalar_op, scalar.Mul)
    assert not isinstance(op_of(x.sum()), scalar.Add)
    assert isinstance(op_of(tt.cast(x, "int8")).scalar_op, scalar.Cast)
    assert isinstance(op_of(tt.exp(x)).scalar_op, scalar.UnaryScalarOp)
    assert not isinstance(op_of(x / 3).scalar_op, scalar.UnaryScalarOp)


def test_class_is_matched_in_a_node() -> None:
    x = tt.dvector("x")
    match tt.log(x).owner_op_and_inputs:
        case tt.Elemwise(scalar_op=scalar.Exp()), _:
            pytest.fail("it is the logarithm")
        case tt.Elemwise(scalar.Log()), operand:
            assert operand is x


def test_calling_a_class_gives_the_scalar_op() -> None:
    x = tt.dvector("x")
    assert scalar.Mul() is scalar.mul
    assert tt.Elemwise(scalar.Sqrt())(x).eval({x: [4.0]}).tolist() == [2.0]
    with pytest.raises(TypeError, match="no single scalar op"):
        scalar.Cast()


def test_scalar_op_of_a_class_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    # Other tests go through the whole table.
    monkeypatch.setattr(tt.SCALAR_OPS, "_scalar_ops", dict(tt.SCALAR_OPS._scalar_ops))

    class Cube(scalar.UnaryScalarOp):  # type: ignore[misc]  # what type checkers know of it is the class alone
        def impl(self, x: float) -> float:
            return x**3

        def grad(self, inputs: Sequence[tt.TensorVariable], gradients: Sequence[tt.TensorVariable]) -> list[Any]:
            return [gradients[0] * 3 * inputs[0] ** 2]

    cube = Cube(scalar.upgrade_to_float_no_complex, name="cube_of_a_test")
    x = tt.dvector("x")
    y = tt.Elemwise(cube)(x)
    value, slope = function([x], [y, tt.grad(y.sum(), x)])([2.0, 3.0])
    assert (value.tolist(), slope.tolist()) == ([8.0, 27.0], [12.0, 27.0])
    assert isinstance(op_of(y).scalar_op, Cube)


@pytest.mark.parametrize("method", ["L_op", "pullback"])
def test_scalar_op_of_a_class_has_the_gradient_that_its_class_has(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tt.SCALAR_OPS, "_scalar_ops", dict(tt.SCALAR_OPS._scalar_ops))

    def terms(self: object, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        del self
        return [cotangents[0] * 2 * outputs[0] / inputs[0]]

    kind = type("Squared", (scalar.UnaryScalarOp,), {"impl": lambda _, x: x * x, method: terms})
    op = kind(scalar.upgrade_to_float_no_complex, name=f"squared_with_{method}")
    x = tt.dvector("x")
    slope = tt.grad(tt.Elemwise(op)(x).sum(), x)
    assert function([x], slope)([2.0, 3.0]).tolist() == [4.0, 6.0]


def test_reductions_are_instances_of_their_documented_classes() -> None:
    x = tt.dvector("x")
    assert isinstance(op_of(x.sum()), math.Sum)
    assert isinstance(op_of(x.max()), math.Max | math.CAReduce)
    assert not isinstance(op_of(x.max()), math.Sum)
    assert isinstance(op_of(tt.argmax(x)), math.Argmax)
    assert isinstance(op_of(tt.cumsum(x)), importlib.import_module("treadle.tensor.extra_ops").CumOp)


def test_scalars_enter_expressions_as_tensors() -> None:
    s, x = ScalarType("float64")("s"), tt.dvector("x")
    z = s * x
    f = function([s, x], [z, tt.grad(z.sum(), x), scalar_from_tensor(tt.exp(x[0]))])
    value, slope, number = f(2.0, [0.0, 1.0])
    assert (value.tolist(), slope.tolist()) == ([0.0, 2.0], [2.0, 2.0])
    assert isinstance(number, np.float64)
    assert number == 1.0


def test_scalar_of_a_tensor_becomes_the_tensor_again() -> None:
    s, x = tt.dscalar("s"), tt.dvector("x")
    fgraph, report = rewrite([s, x], [as_scalar(tt.exp(s)) * x])
    assert "tensor_from_scalar_of_tensor" in report.fired()
    assert text(fgraph.outputs[0]) == "mul(dimshuffle{x}(exp(s)), x)"
    assert run(fgraph, [0.0, np.array([1.0, -2.0])])[0].tolist() == [1.0, -2.0]


def test_numbers_and_tensors_of_rank_0_become_scalars() -> None:
    assert as_scalar(3).data == 3  # type: ignore[attr-defined]  # a constant
    s = as_scalar(tt.dscalar("x"))
    assert s.dtype == "float64"
    assert as_scalar(s) is s
    with pytest.raises(TypeError, match="rank 0"):
        as_scalar(tt.dvector("x"))
    with pytest.raises(TypeError, match="ScalarType is needed"):
        tensor_from_scalar(tt.dvector("x"))


@pytest.mark.parametrize("arguments", [((0, 1, 2, 3, 4),), ((),)])
def test_class_of_ops_says_what_parameters_it_has(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r"CAReduce: the parameters are \(scalar_op.*axis.*\), got"):
        math.CAReduce(*(arguments[0] * 2))


def test_reduction_by_another_scalar_op_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match="CAReduce: the scalar op must be one of add, mul, maximum, minimum, and, or"):
        math.CAReduce(scalar.sub)


def test_op_made_of_a_class_and_an_axis_belongs_to_the_class() -> None:
    op = math.Sum(axis=(0, 1), dtype="float32")
    assert isinstance(op, math.Sum)
    assert isinstance(op, math.CAReduce)
    assert not isinstance(op, math.Max)
    assert (op.axis, op.dtype) == ((0, 1), "float32")
    node = op.make_node(tt.dmatrix("x"))
    assert isinstance(node.op, math.Sum)
    assert node.outputs[0].type.dtype == "float32"
    assert math.Max(0)(tt.dmatrix("x"), name="top").name == "top"


def test_elementwise_op_keeps_its_name_and_place_as_documented() -> None:
    op = tt.Elemwise(scalar.add, {0: 1}, name="plus")
    assert (op.name, str(op), op.destroy_map) == ("plus", "plus{0->1}", {0: [1]})
    assert op == tt.Elemwise(scalar.add, inplace=((0, 1),))


@pytest.mark.parametrize("pattern", [{0: 2}, {1: 0}, [0], {0: [0]}])
def test_place_that_is_not_an_input_is_refused(pattern: Any) -> None:
    with pytest.raises(TypeError, match=r"Elemwise: inplace_pattern must give for outputs.* Pass a dictionary"):
        tt.Elemwise(scalar.add, pattern)


def test_dimshuffle_is_made_of_its_documented_parameters() -> None:
    op = tt.DimShuffle(input_ndim=2, new_order=[1, "x", 0])
    assert op == tt.DimShuffle((1, "x", 0), 2)
    assert (op.input_ndim, op.new_order) == (2, (1, "x", 0))
    with pytest.raises(TypeError, match="DimShuffle: the order and the rank of the input are needed"):
        tt.DimShuffle(input_ndim=2)


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64"])
def test_arithmetic_of_scalars_goes_back_to_tensors(dtype: str) -> None:
    a = tt.scalar("a", dtype=dtype)
    number = scalar_from_tensor(a)
    for result, expected in (
        (tensor_from_scalar((number + 1) ** 2), 16),
        (tensor_from_scalar(-number), -3),
        (tensor_from_scalar(number), 3),
        (tensor_from_scalar(a * 2), 6),
    ):
        assert result.type.ndim == 0
        assert function([a], result, mode="VM")(3) == expected
    with pytest.raises(TypeError, match="a variable of type ScalarType is needed"):
        tensor_from_scalar(2.0)
