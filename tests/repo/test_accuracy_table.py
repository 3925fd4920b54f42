"""The tool that measures special functions finds the error of a wrong value."""

import mpmath

import treadle.tensor as tt
from tools.accuracy import FUNCTIONS, Function, Range, measure


def test_error_is_counted_in_units_of_the_last_place_and_placed() -> None:
    off = Function("off", lambda x: x * (1 + 2**-50), lambda x: x, ((Range(1.0, 1.001),),))
    (finding,) = measure(off, "float64", ["vm"], 8)
    assert finding.error == 4
    assert 1 <= finding.at[0] <= 1.001
    assert finding.row()[:4] == ("off", "float64", "vm", "4")


def test_exact_function_has_no_error() -> None:
    exact = Function("negative", lambda x: -x, lambda x: mpmath.mpf(-1) * x, ((Range(-5.0, 5.0),),))
    assert next(measure(exact, "float32", ["vm"], 8)).error == 0


def test_rows_name_public_functions() -> None:
    assert all(callable(getattr(tt, each.name)) for each in FUNCTIONS)
