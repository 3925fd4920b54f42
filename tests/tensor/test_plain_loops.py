"""Loops as functions of a carry."""

import treadle.tensor as tt
from treadle.compile import function


def test_carries_in_a_dictionary_are_found_by_their_keys() -> None:
    x = tt.dscalar("x")
    carries = tt.while_loop(lambda s: s["a"] < 9, lambda s: {"b": s["b"] + 1.0, "a": 2 * s["a"]}, {"a": x, "b": x})
    assert function([x], [carries["a"], carries["b"]])(3.0) == [12.0, 5.0]
