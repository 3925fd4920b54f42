"""A third party's op, by public names alone: it defines what ours define, and gets what ours get."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import Apply, Op, Type, Variable, static_op, vectorize_graph
from treadle.testing import verify_grad


@static_op
class Running(Op):
    """Sums of all elements up to each one, along the last dimension."""

    def as_input(self, value: Any) -> Variable:
        """Take anything that can be made a tensor."""
        return tt.as_tensor_variable(value)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Sum with NumPy."""
        output_storage[0][0] = np.cumsum(inputs[0], axis=-1)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the input's shape."""
        return [shapes[0]]

    def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
        """Apply the op: it takes any number of leading dimensions."""
        return self.make_node(*inputs)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        """Sum the cotangents from each element on."""
        ct = tt.as_tensor_variable(cotangents[0])
        return [Running()(ct[..., ::-1])[..., ::-1]]

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Multiply with a triangle of ones."""
        x = tt.as_tensor_variable(inputs[0])
        at = tt.arange(x.shape[-1])
        triangle = tt.cast(tt.le(at.dimshuffle(0, "x"), at.dimshuffle("x", 0)), x.dtype)
        return [tt.matmul(x, triangle)]


@pytest.mark.parametrize("mode", ["VM", "C", "CVM", "NUMBA", "JAX", "PYTORCH"])
def test_it_runs_everywhere_without_a_rule(mode: str) -> None:
    x = tt.dmatrix("x")
    value = np.arange(12.0).reshape(3, 4)
    with config.change_flags(torch__compile=False, on_python_step="raise"):
        f = function([x], Running()(x) * 2, mode=mode)
    np.testing.assert_allclose(f(value), 2 * np.cumsum(value, axis=1))


def test_its_shape_is_known_without_its_value() -> None:
    x = tt.dmatrix("x")
    f = function([x], Running()(x).shape, mode="VM")
    assert not any(isinstance(node.op, Running) for node in f.maker.fgraph.toposort())
    np.testing.assert_array_equal(f(np.zeros((3, 4))), [3, 4])


def test_it_is_applied_along_a_batch() -> None:
    x, batch = tt.dvector("x"), tt.dmatrix("batch")
    batched = vectorize_graph(Running()(x), {x: batch})
    value = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(function([batch], batched, mode="VM")(value), np.cumsum(value, axis=1))


def test_its_gradient_is_right() -> None:
    verify_grad(Running(), [np.array([0.5, -1.0, 2.0])], mode="VM")


@static_op
class RunningRange(Op):
    """The range of all elements up to each one, of a vector: it says nothing of derivatives."""

    def as_input(self, value: Any) -> Variable:
        """Take anything that can be made a tensor."""
        return tt.as_tensor_variable(value)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Compute with NumPy."""
        x = inputs[0]
        output_storage[0][0] = np.maximum.accumulate(x) - np.minimum.accumulate(x)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the largest element so far less the least."""
        x = tt.as_tensor_variable(inputs[0])
        return [tt.maximum.accumulate(x) - tt.minimum.accumulate(x)]


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_derivatives_go_through_what_an_op_decomposes_into(mode: str) -> None:
    x, v = tt.dvector("x"), tt.dvector("v")
    ours = RunningRange()(x * x)
    theirs = tt.maximum.accumulate(x * x) - tt.minimum.accumulate(x * x)
    derivatives = []
    for y in (ours, theirs):
        cost = (y * y).sum()
        derivatives.append([tt.grad(cost, x), tt.pushforward(y, x, v), tt.hessian_vector_product(cost, x, v)])
    check = function([x, v], [*derivatives[0], *derivatives[1]], mode=mode)
    values = check([1.0, 3.0, -0.5, 4.0], [0.5, -1.0, 2.0, 1.0])
    assert np.abs(values[0]).sum() > 0
    for a, b in zip(values[:3], values[3:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_where_one_input_is_computed_from_another_each_gets_its_own_term() -> None:
    @static_op
    class Scaled(RunningRange):
        def infer(self, *types: Type) -> Sequence[Type]:
            return types[:1]

        def decompose(self, *inputs: Variable) -> Sequence[Variable]:
            a, b = map(tt.as_tensor_variable, inputs)
            return [a * b]

    x = tt.dvector("x")
    gradient = tt.grad(Scaled()(x, 2 * x).sum(), x)
    np.testing.assert_allclose(function([x], gradient, mode="VM")([1.0, 3.0]), [4.0, 12.0])


class Diagonal(Running):
    """A square matrix with a vector on the diagonal."""

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a square matrix."""
        (x,) = types
        assert isinstance(x, tt.TensorType)
        return [tt.TensorType(x.dtype, (x.shape[0],) * 2)]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Compute with NumPy."""
        output_storage[0][0] = np.diag(inputs[0])

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the shape."""
        return [(shapes[0][0], shapes[0][0])]

    def promises(self, fact: str, output: Variable, holds: Any) -> bool:
        """Promise what a diagonal matrix is."""
        return fact in {"diagonal", "symmetric"}


def test_rules_believe_what_an_op_from_outside_promises() -> None:
    x, y = tt.dvector("x"), tt.dmatrix("y")
    f = function([x, y], Diagonal()(x) @ y, mode="VM")
    assert "MatMul" not in {type(node.op).__name__ for node in f.maker.fgraph.toposort()}
    np.testing.assert_allclose(f([1.0, 2.0], [[3.0, 4.0], [5.0, 6.0]]), [[3.0, 4.0], [10.0, 12.0]])
