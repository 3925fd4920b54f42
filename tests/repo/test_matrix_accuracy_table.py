"""The tool that measures linear algebra finds the error of a result, and the table holds these errors."""

import csv

import mpmath

import treadle.tensor as tt
from tools.matrix_accuracy import COLUMNS, FUNCTIONS, MATRICES, TABLE, Function, measure


def test_an_error_is_counted_in_units_of_condition_and_epsilon() -> None:
    off = Function("off", lambda x: x * (1 + 2**-48), lambda a: a, is_well_conditioned=True)
    ((*names, error, _, _),) = measure(off, "graded", "float64", ["vm"])
    assert names == ["off", "graded", "float64", "vm"]
    assert error == "16"
    conditioned = Function("off", off.build, off.exact)
    ((*_, smaller, condition, at),) = measure(conditioned, "graded", "float64", ["vm"])
    assert float(smaller) < 0.01
    assert (condition, at) == ("1e+04", "3")


def test_a_number_is_a_result_too() -> None:
    trace = Function("trace", tt.trace, lambda a: mpmath.fsum(a[i, i] for i in range(a.rows)), is_well_conditioned=True)
    ((*_, error, _, _),) = measure(trace, "hilbert", "float64", ["vm"])
    assert float(error) < 2


def test_no_result_of_the_table_is_further_off_than_its_condition_says() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, delimiter="\t")
    assert tuple(head) == COLUMNS
    assert {row[0] for row in rows} == {each.name for each in FUNCTIONS}
    assert {row[1] for row in rows} == {*MATRICES}
    assert all(float(row[4]) < 200 for row in rows if row[0] == "expm")
    assert all(float(row[4]) < 10 for row in rows if row[0] != "expm")
