"""An input that an expression was written with counts as used, even if a simplification removed it."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import UnusedInputError, function
from treadle.graph import GraphValueError, clone_replace, graph_replace, vectorize_graph
from treadle.scan import scan
from treadle.tensor.types.none_and_slices import NoneTypeT

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Variable

a, b, c = (tt.dscalar(name) for name in "abc")
x, y = (tt.dvector(name) for name in "xy")
short = tt.tensor("short", dtype="float64", shape=(3,))
none = NoneTypeT()("none")
ONES = np.ones(3)

Case = tuple[list[Any], "Callable[[], Any]", Any]

CASES: dict[str, Case] = {
    "gradient of a product": ([a, b], lambda: tt.grad(a * b, a), 1.0),
    "second derivative": ([a], lambda: tt.grad(tt.grad(a**2, a), a), 2.0),
    "gradient of a dot product": ([x, y], lambda: tt.grad(tt.dot(x, y), y), ONES),
    "gradient by itself": ([a], lambda: tt.grad(a, a), 1.0),
    "expression of a gradient": ([a], lambda: tt.exp(tt.grad(a, a)), np.e),
    "gradient that is zero": ([a, b], lambda: tt.grad(b * 2, a, disconnected_inputs="ignore"), 0.0),
    "gradient of a mean": ([short, b], lambda: tt.grad(short.mean() * b, b), 1.0),
    "known gradient": ([a, b], lambda: tt.grad(None, a, known_grads={a * 2: b}), 2.0),
    "gradient beside a computed input": ([a, b], lambda: tt.grad(tt.exp(a) + b, b), 1.0),
    "one of several gradients": ([x, y], lambda: tt.grad((x * y).sum(), [x, y])[0], ONES),
    "gradient of a stretch": ([a, b], lambda: tt.subgraph_grad([a], [b], cost=a * b)[0][0], 1.0),
    "Jacobian of a scalar": ([a], lambda: tt.jacobian(2 * a, a), 2.0),
    "Jacobian of a vector": ([x], lambda: tt.jacobian(2 * x, x), 2 * np.eye(3)),
    "Jacobian by a loop": ([short], lambda: tt.jacobian(2 * short, short, vectorize=False), 2 * np.eye(3)),
    "Jacobian in forward mode": ([short], lambda: tt.jacobian(2 * short, short, forward=True), 2 * np.eye(3)),
    "Hessian": ([a, b], lambda: tt.hessian(a**2 * b, a), 2.0),
    "product with a Hessian": ([x, y], lambda: tt.hessian_vector_product((x**2).sum(), x, y), 2 * ONES),
    "Rop of a linear map": ([x, y], lambda: tt.Rop(x * 2, x, y), 2 * ONES),
    "Rop of the identity": ([x, y], lambda: tt.Rop(x, x, y), ONES),
    "Lop of a linear map": ([x, y], lambda: tt.Lop(x * 2, x, y), 2 * ONES),
    "Lop of the identity": ([x, y], lambda: tt.Lop(x, x, y), ONES),
    "zeros_like of a scalar": ([a], lambda: tt.zeros_like(a), 0.0),
    "ones_like of a scalar": ([a], lambda: tt.ones_like(a), 1.0),
    "full_like of a known shape": ([short], lambda: tt.full_like(short, 2.0), 2 * ONES),
    "imaginary part of a real number": ([a], lambda: a.imag, 0.0),
}


def ones_for(variables: list[Variable]) -> list[Any]:
    return [np.ones((3,) * var.type.ndim) for var in variables]  # type: ignore[attr-defined]  # tensors


@pytest.mark.parametrize("name", CASES)
def test_input_that_a_derivative_or_simplification_left_out_is_taken(name: str) -> None:
    inputs, built, expected = CASES[name]
    compute = function(inputs, built(), mode="VM", on_unused_input="raise")
    np.testing.assert_allclose(compute(*ones_for(inputs)), expected)


def test_size_of_none_is_taken() -> None:
    assert np.shape(function([none], tt.random.normal(size=none), mode="VM")(None)) == ()


COPIES: dict[str, Callable[[Any], Any]] = {
    "clone_replace": lambda out: clone_replace(out, {a: c}),
    "graph_replace": lambda out: graph_replace(out, {a: c}),
    "clone_replace of a list": lambda out: clone_replace([b, out], {a: c})[1],
    "clone_replace twice": lambda out: clone_replace(clone_replace(out, {a: x[0]}), {x: tt.stack([c, c])}),
}


@pytest.mark.parametrize("name", COPIES)
def test_copy_was_written_with_what_stands_for_the_variables(name: str) -> None:
    copy = COPIES[name](tt.exp(tt.grad(a * b, a)))
    assert function([c, b], copy, mode="VM")(5.0, 0.0) == 1.0
    with pytest.raises(UnusedInputError, match="input 0, a "):
        function([a, b, c], copy, mode="VM")


def test_replacement_by_givens_counts_as_the_variable_did() -> None:
    twice = a * 2
    assert function([c, b], tt.grad(a * b, a), givens={a: c}, mode="VM")(1.0, 2.0) == 2.0
    assert function([c, b], tt.grad(twice + b, b), givens={twice: c}, mode="VM")(1.0, 2.0) == 1.0


@pytest.mark.parametrize("outside", [False, True])
def test_variable_of_another_batch_is_taken_by_vectorize_graph(outside: bool) -> None:
    slope = tt.grad(a * b, a)
    many = vectorize_graph(tt.exp(slope) if outside else slope, {a: x})
    assert function([x, b], many, mode="VM")(ONES, 0.0) == (1.0 if outside else 0.0)


@pytest.mark.parametrize("outside", [False, True])
def test_pickled_expression_remembers(outside: bool) -> None:
    slope = tt.grad(a * b, a)
    one, two, out = pickle.loads(pickle.dumps((a, b, tt.exp(slope) if outside else slope)))
    assert function([one, two], out, mode="VM")(1.0, 0.0) == (1.0 if outside else 0.0)


def test_mistake_is_still_reported() -> None:
    slope, moved, result = tt.grad(a * b, a), tt.Rop(x, x, y), tt.dscalar()
    assert (slope, moved) != (b, y)
    for inputs, out, unused in (
        ([a, b], b * 2, "input 0, a"),
        ([a, b, c], slope, "input 2, c"),
        ([x, y], y, "input 0, x"),
        ([a * 2, b], slope, "input 0, Mul.out"),
        ([result, b], tt.exp(b), "input 0"),
    ):
        with pytest.raises(UnusedInputError, match=unused):
            function(inputs, out, mode="VM")
        with pytest.warns(UserWarning, match=unused):
            function(inputs, out, mode="VM", on_unused_input="warn")


def test_warning_is_given_for_mistakes_only() -> None:
    assert function([a, b], tt.grad(a * b, a), mode="VM", on_unused_input="warn")(1.0, 2.0) == 2.0


def test_gradient_keeps_no_expression_alive_beyond_itself() -> None:
    weight = tt.dscalar("weight")
    cost = tt.exp(weight) * a
    slope = tt.grad(cost, a)
    watched = weakref.ref(cost)
    del cost, slope
    gc.collect()
    assert watched() is None


def test_shape_of_a_loop_is_written_with_its_sequence() -> None:
    rows = scan(lambda row: row * 2, sequences=[x], return_updates=False)
    assert function([x], rows.shape[0], mode="VM")(ONES) == 3
    steps = scan(lambda row: row * 2, sequences=[x], n_steps=3, return_updates=False)
    assert function([x], steps.shape[0], mode="VM")(ONES) == 3


def test_length_that_is_known_is_written_with_its_tensor() -> None:
    assert function([short], short.shape[0], mode="VM")(ONES) == 3
    assert function([short], tt.zeros((short.shape[0], 2)) + 1.0 * short.shape[0], mode="VM")(ONES).shape == (3, 2)
    with pytest.raises(UnusedInputError, match="input 1, x"):
        function([short, x], short.shape[0], mode="VM")


@pytest.mark.documents("OpFromGraph.on_unused_input")
def test_op_from_graph_says_what_inputs_it_has_no_use_for() -> None:
    with pytest.raises(GraphValueError, match="OpFromGraph: input 1, b"):
        tt.OpFromGraph([a, b], [a * 2], on_unused_input="raise")
    with pytest.warns(UserWarning, match="OpFromGraph: input 1, b"):
        tt.OpFromGraph([a, b], [a * 2], on_unused_input="warn")
    tt.OpFromGraph([a, b], [tt.grad(a * b, a)], on_unused_input="raise")
    assert tt.OpFromGraph([a, b], [a * 2], on_unused_input="ignore")(a, b).eval({a: 2.0, b: 1.0}) == 4.0
