"""Functions of a library that treadle does not know become ops by one small class."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import GraphTypeError, MethodNotDefinedError, Type, VectorizeError, vectorize_graph

# A library of arrays that remember what they were computed from.


class Tape:
    __array_ufunc__ = None

    def __init__(self, data: Any, *parents: tuple[Any, Callable[[Any], Any]]) -> None:
        self.data = data
        self.parents = parents

    def __mul__(self, other: Any) -> Any:
        right = other.data if isinstance(other, Tape) else other
        return Tape(self.data * right, (self, lambda ct: ct * right), (other, lambda ct: ct * self.data))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        right = other.data if isinstance(other, Tape) else other
        return Tape(self.data + right, (self, lambda ct: ct), (other, lambda ct: ct))


def sine(x: Any) -> Any:
    return Tape(sine(x.data), (x, lambda ct: ct * cosine(x.data))) if isinstance(x, Tape) else np.sin(x)


def cosine(x: Any) -> Any:
    return Tape(cosine(x.data), (x, lambda ct: ct * -1.0 * sine(x.data))) if isinstance(x, Tape) else np.cos(x)


def backward(result: Any, ct: Any, gradients: dict[int, Any]) -> None:
    if isinstance(result, Tape):
        gradients[id(result)] = gradients[id(result)] + ct if id(result) in gradients else ct
        for parent, pull in result.parents:
            backward(parent, pull(ct), gradients)


# What treadle has to know of the library.


class TapeOp(tt.ExternalOp[Any]):
    library = "tape"

    @staticmethod
    def vjp(function: Callable[..., Any], primals: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
        leaves = [Tape(x) for x in primals]
        gradients: dict[int, Any] = {}
        for result, ct in zip(function(*leaves), cotangents, strict=True):
            backward(result, ct, gradients)
        return [gradients.get(id(leaf), leaf.data * 0.0) for leaf in leaves]


class Pair(NamedTuple):
    wave: Any
    factor: Any


def wave(x: Any, factor: float) -> Pair:
    return Pair(sine(x) * factor, factor * np.ones(()))


X = tt.dvector("x")
VALUES = np.array([0.2, 1.0, -3.0])


@pytest.fixture
def wrapped() -> Any:
    return tt.wrap_external(TapeOp, wave)


def test_results_are_nested_as_those_of_the_function(wrapped: Any) -> None:
    results = wrapped(X, factor=2.0)
    assert isinstance(results, Pair)
    assert (results.wave.type, results.factor.type) == (X.type, tt.dscalar().type)
    np.testing.assert_array_equal(results.wave.eval({X: VALUES}), np.sin(VALUES) * 2)
    assert str(results.wave.owner.op) == "TapeOp{wave}"


def test_gradients_of_every_order_are_the_librarys(wrapped: Any) -> None:
    first = tt.grad(wrapped(X, 2.0).wave.sum(), X)
    np.testing.assert_allclose(first.eval({X: VALUES}), 2 * np.cos(VALUES))
    np.testing.assert_allclose(tt.grad(first.sum(), X).eval({X: VALUES}), -2 * np.sin(VALUES))


@pytest.mark.parametrize("rows", [2, 0])
def test_batches_and_their_gradients_are_loops(wrapped: Any, rows: int) -> None:
    wide, values = tt.dmatrix("wide"), np.resize(VALUES, (rows, 3))
    whole = vectorize_graph(wrapped(X, 2.0).wave, {X: wide})
    np.testing.assert_array_equal(whole.eval({wide: values}), np.sin(values) * 2)
    np.testing.assert_allclose(tt.grad(whole.sum(), wide).eval({wide: values}), 2 * np.cos(values))


def test_function_without_derivatives_says_so() -> None:
    class Plain(tt.ExternalOp[Any]):
        library = "plain"

    with pytest.raises(MethodNotDefinedError, match=r"Plain\{sin\}: functions of plain have no gradient. Define vjp"):
        tt.grad(tt.wrap_external(Plain, np.sin)(X).sum(), X)


def test_wrong_functions_and_results_are_named() -> None:
    with pytest.raises(GraphTypeError, match="wrap_external: a function is needed, got 3"):
        tt.wrap_external(TapeOp, 3)
    with pytest.raises(GraphTypeError, match=r"wrap_tape: .* cannot be called with arrays float64\[3\].*nothing but"):
        tt.wrap_external(TapeOp, lambda _: "text")(X)
    by_length = tt.wrap_external(TapeOp, lambda x: np.ones([2] * len(x)))
    with pytest.raises(GraphTypeError, match="result, number 0, of a rank that depends on the inputs' lengths"):
        by_length(X)
    lying = tt.wrap_external(TapeOp, lambda x: x if x[0] == 1 else x.astype("float32"))
    with pytest.raises(TypeError, match="the function's value 0 does not fit its otype"):
        lying(X).eval({X: VALUES})


class Anything(Type):
    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        del strict, allow_downcast
        return data


def test_batch_of_values_that_are_not_tensors_is_refused() -> None:
    kind = Anything()
    op = tt.wrap_py([tt.dvector, kind], [tt.dvector])(lambda x, _: x)
    with pytest.raises(VectorizeError, match="a value that is no tensor has no batch"):
        vectorize_graph(op(X, kind()), {X: tt.dmatrix()})


def test_op_pickles_with_its_function() -> None:
    out = pickle.loads(pickle.dumps(tt.wrap_external(TapeOp, wave)(X, 2.0).wave))
    (x,) = out.owner.inputs
    np.testing.assert_array_equal(out.eval({x: VALUES}), np.sin(VALUES) * 2)
