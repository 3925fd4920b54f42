"""Variable.eval."""

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
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
    made = {name: function([], [], mode="VM") for name in "abc"}
    cache.put("a", made["a"])
    cache.put("b", made["b"])
    assert cache.get("a") is made["a"]
    cache.put("c", made["c"])
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (made["a"], None, made["c"])
