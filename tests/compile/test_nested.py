"""Arguments, results and derivatives that are nested."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import CallError, Function, FunctionTypeError, In, Out, function, shared


@dataclass
class Layer:
    w: Any
    b: Any


class Pair(NamedTuple):
    one: Any
    two: Any


W, B, X, SCALE = tt.dmatrix("W"), tt.dvector("B"), tt.dvector("x"), tt.dscalar("scale")
PARAMS = {"layer": Layer(W, B), "rest": None}
VALUES = {"layer": Layer(np.ones((2, 3)), [0.0, 1.0, 2.0]), "rest": None}
OUTPUT = X @ W + B
OUTPUTS: Any = {"y": OUTPUT}
COST = (OUTPUT**2).sum() * SCALE


def network(**options: Any) -> Function:
    inputs = [PARAMS, X, In(SCALE, value=2.0)]
    return function(inputs, [COST, tt.grad(COST, PARAMS), Pair(X, (Out(OUTPUT),))], mode="VM", name="f", **options)


@pytest.mark.documents("NestedFunction", "function.inputs", "function.outputs")
def test_calls_take_and_return_what_was_declared() -> None:
    cost, gradients, pair = network()(VALUES, [1.0, 2.0])
    assert cost == 100.0  # 2 * (3^2 + 4^2 + 5^2)
    assert isinstance(gradients["layer"], Layer)
    assert gradients["rest"] is None
    np.testing.assert_array_equal(gradients["layer"].b, [12.0, 16.0, 20.0])
    assert isinstance(pair, Pair)
    np.testing.assert_array_equal(pair.two[0], [3.0, 4.0, 5.0])
    assert network()(VALUES, [1.0, 2.0], scale=1.0)[0] == 50.0
    assert network()(VALUES, x=[1.0, 2.0])[0] == 100.0


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f)), lambda f: f.copy()]
)
def test_copies_are_called_in_the_same_way(copied: Any) -> None:
    assert copied(network())(VALUES, [1.0, 2.0])[0] == 100.0


def test_flat_lists_make_plain_functions_and_dictionaries_of_outputs_name_them() -> None:
    flat = function([X], [X, X + 1], mode="VM")
    assert type(flat) is Function
    assert isinstance(flat([1.0]), list)
    assert type(function([X], Pair(X, X), mode="VM")([1.0])) is list
    assert type(function([X], {"a": X}, mode="VM")) is Function
    named = function([X], {"a": X, "b": [X, None]}, mode="VM")([1.0])
    assert named == {"a": np.array([1.0]), "b": [np.array([1.0]), None]}
    assert function([X], Layer(X, {"c": X}), mode="VM")([1.0]) == Layer(np.array([1.0]), {"c": np.array([1.0])})
    assert function([PARAMS, X], [OUTPUT, OUTPUT], mode="VM")(VALUES, [1.0, 2.0], output_subset=[1])[0][0] == 3.0


def test_updates_are_made_by_nested_functions_too() -> None:
    total = shared(0.0, name="total")
    f = function([{"x": SCALE}], {"old": {"total": total}}, updates={total: total + SCALE}, mode="VM")
    assert [float(f({"x": 2.0})["old"]["total"]) for _ in range(3)] == [0.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({**VALUES, "layer": Layer(np.ones(3), [1.0])}, [1.0]), r'f: argument 0\["layer"\].w: .* got shape \(3,\)'),
        (
            ({**VALUES, "layer": Layer(None, [1.0])}, [1.0]),
            r'\["layer"\].w: expected a value of type Matrix.* got None',
        ),
        (({**VALUES, "layer": 3}, [1.0]), r'argument 0\["layer"\]: expected an object of Layer, got 3'),
        (({"layer": 3}, [1.0]), r'argument 0: expected a dict with the keys "layer", "rest", got a dict'),
        ((VALUES, "a"), r"f: argument 1, x: .*'a' is no array of numbers"),
        ((VALUES,), r"x of type .*, is missing"),
        ((), r"argument 0 is missing, a dict with the keys"),
        ((VALUES, [1.0], 1.0, 2.0), r"3 arguments at most, got 4"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(arguments: Any, message: str) -> None:
    with pytest.raises(CallError, match=message):
        network()(*arguments)


def test_what_is_no_variable_is_refused_with_its_path() -> None:
    with pytest.raises(FunctionTypeError, match=r'input 0\["a"\]: an input must be a variable or In, got 3'):
        function([{"a": 3}], X)
    with pytest.raises(FunctionTypeError, match=r'outputs\["a"\]\["b"\]: an output must be a variable'):
        function([X], {"a": {"b": 3}})
    with pytest.raises(FunctionTypeError, match=r"got the pair or list \(x, 3.0\)"):
        function([(X, 3.0)], X)
    with pytest.raises(FunctionTypeError, match="pass updates=updates"):
        function([X], (X, {}))
    with pytest.raises(TypeError, match=r'wrt\["a"\]: deriv'):
        tt.grad(COST, {"a": 3})


def test_derivatives_by_trees_are_trees() -> None:
    values = {W: np.arange(6.0).reshape(2, 3), B: np.ones(3), X: np.array([1.0, -1.0]), SCALE: 1.0}

    def computed(tree: Any) -> Any:
        leaves = [tree["layer"].w, tree["layer"].b]
        assert tree["rest"] is None
        return function(list(values), leaves, mode="VM", on_unused_input="ignore")(*values.values())

    def flat(listed: Any) -> Any:
        return function(list(values), list(listed), mode="VM", on_unused_input="ignore")(*values.values())

    moves = Layer(tt.ones_like(W), B)
    pairs = [
        (tt.grad(COST, PARAMS), tt.grad(COST, [W, B])),
        (tt.value_and_grad(COST, PARAMS)[1], tt.grad(COST, [W, B])),
        (tt.jacobian(OUTPUT, PARAMS), tt.jacobian(OUTPUT, [W, B])),
        (tt.jacobian(OUTPUTS, PARAMS)["y"], tt.jacobian(OUTPUT, [W, B])),
        (tt.hessian(COST, PARAMS), tt.hessian(COST, [W, B])),
        (tt.pullback({"y": OUTPUT}, PARAMS, {"y": OUTPUT}), tt.pullback(OUTPUT, [W, B], OUTPUT)),
        (
            tt.hessian_vector_product(COST, PARAMS, {"rest": None, "layer": moves}),
            tt.hessian_vector_product(COST, [W, B], [moves.w, moves.b]),
        ),
    ]
    for tree, listed in pairs:
        for one, other in zip(computed(tree), flat(listed), strict=True):
            np.testing.assert_allclose(one, other)
    moved = tt.pushforward({"y": OUTPUT}, PARAMS, {"rest": None, "layer": Layer(tt.ones_like(W), None)})
    np.testing.assert_allclose(flat([moved["y"]])[0], flat([tt.pushforward(OUTPUT, [W], [tt.ones_like(W)])])[0])


def test_loops_carry_dataclasses() -> None:
    last, rows = tt.scan_with_carry(lambda c, x: (Layer(c.w + x, c.b * 2), Pair(c.w, c.b)), Layer(0.0, 1.0), X)
    results = function([X], [last, rows], mode="VM")([1.0, 2.0])
    assert results[0] == Layer(3.0, 4.0)
    np.testing.assert_array_equal(results[1].one, [0.0, 1.0])
