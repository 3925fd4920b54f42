"""Variable.eval."""

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import UnusedInputError, function, shared
from treadle.compile.evaluation import CACHE, EvaluationCache
from treadle.graph import GraphTypeError, MissingInputError


def test_values_are_given_by_variable_or_by_name() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    assert (x - y).eval({x: 3.0, "y": 1.0}, mode="VM") == 2.0


def test_graph_without_inputs_needs_no_values() -> None:
    state = shared(2.0)
    assert (state + 1).eval(mode="VM") == 3.0
    state.set_value(5.0)
    assert (state + 1).eval(mode="VM") == 6.0


def test_second_evaluation_compiles_nothing() -> None:
    x = tt.dscalar("x")
    y = x * 2
    y.eval({x: 1.0}, mode="VM")
    size = len(CACHE._functions)
    assert y.eval({x: 2.0}, mode="VM") == 4.0
    assert len(CACHE._functions) == size


def test_intermediate_variable_can_be_given() -> None:
    x = tt.dscalar("x")
    square = x * x
    assert (square + 1).eval({square: 10.0}, mode="VM") == 11.0


def test_missing_values_are_named() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    with pytest.raises(MissingInputError, match=r"depends on x of type Scalar\(float64\), y of type Scalar\(float64\)"):
        (x + y).eval(mode="VM")
    with pytest.raises(MissingInputError, match="y of type"):
        (x + y).eval({x: 1.0}, mode="VM")


def test_unknown_name_is_an_error_with_the_known_ones() -> None:
    x = tt.dscalar("x")
    with pytest.raises(GraphTypeError, match=r"'z' is no input of .* Its named inputs are x"):
        (x + 1).eval({"z": 1.0}, mode="VM")


def test_options_of_function_are_passed_on() -> None:
    x, unused = tt.fvector("x"), tt.dscalar("unused")
    assert x.eval({x: np.array([0.1])}, mode="VM", allow_input_downcast=True).dtype == np.float32
    assert x.eval({x: np.ones(1, np.float32), unused: 1.0}, mode="VM", on_unused_input="ignore") == 1.0


def test_cache_drops_what_was_used_longest_ago() -> None:
    cache = EvaluationCache(2)
    functions = {name: function([], [], mode="VM") for name in "abc"}
    cache.put("a", functions["a"])
    cache.put("b", functions["b"])
    assert cache.get("a") is functions["a"]
    cache.put("c", functions["c"])
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (functions["a"], None, functions["c"])


def test_name_of_two_inputs_is_refused() -> None:
    x = tt.dscalar("x") + tt.dscalar("x")
    with pytest.raises(GraphTypeError, match=r"2 inputs of .* have the name 'x'"):
        x.eval({"x": 1.0}, mode="VM")


def test_unknown_name_is_left_out_where_unused_inputs_may_be() -> None:
    x = tt.dscalar("x")
    assert (x + 1).eval({"x": 1.0, "y": 2.0}, mode="VM", on_unused_input="ignore") == 2.0
    with pytest.warns(UserWarning, match="'y' is no input of"):
        assert (x + 1).eval({"x": 1.0, "y": 2.0}, mode="VM", on_unused_input="warn") == 2.0


def test_name_of_what_the_graph_computes_stands_for_it() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    negative = -x
    negative.name = "negative"
    assert (negative + y).eval({"negative": 5.0, y: 1.0}, mode="VM") == 6.0
    total = negative + y
    total.name = "x"
    assert (total * x).eval({"x": 2.0, "y": 1.0}, mode="VM") == -2.0
    other = x * 2
    other.name = "negative"
    with pytest.raises(GraphTypeError, match=r"2 variables of .* have the name 'negative'"):
        (negative + other).eval({"negative": 1.0}, mode="VM")


def test_value_that_building_made_unnecessary_is_accepted() -> None:
    x, y = tt.dscalar("x"), tt.vector("y", shape=(3,), dtype="float64")
    assert tt.zeros_like(y).eval({y: np.ones(3)}, mode="VM").tolist() == [0.0, 0.0, 0.0]
    assert tt.full_like(x, 1).eval({x: 0.0}, mode="VM") == 1.0
    assert tt.grad(3 * x, x).eval({x: 0.0}, mode="VM") == 3.0
    assert tt.zeros_like(y).eval({y: np.ones(3)}, mode="VM", on_unused_input="raise").tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(UnusedInputError, match="input 1, x"):
        tt.zeros_like(y).eval({y: np.ones(3), x: 1.0}, mode="VM", on_unused_input="raise")


def test_givens_may_be_a_dictionary() -> None:
    x, y, z = tt.dscalar("x"), tt.dscalar("y"), tt.dscalar("z")
    total = x + y
    assert total.eval({x: 1.0}, mode="VM", givens={y: tt.constant(2.0)}) == 3.0
    assert total.eval({x: 1.0}, mode="VM", givens={y: np.array(4.0)}) == 5.0
    assert total.eval({x: 1.0, z: 7.0}, mode="VM", givens=[(y, z)]) == 8.0


def test_givens_that_are_equal_numbers_are_told_apart() -> None:
    x = tt.dscalar("x")
    signs = [np.signbit((x * 1).eval({}, mode="VM", givens={x: zero})) for zero in (0.0, -0.0)]
    assert signs == [False, True]


def test_functions_with_dictionaries_of_the_same_givens_are_compiled_once() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    total = x + y
    total.eval({x: 1.0}, mode="VM", givens={y: 2.0})
    size = len(CACHE._functions)
    assert total.eval({x: 2.0}, mode="VM", givens={y: 2.0}) == 4.0
    assert len(CACHE._functions) == size
