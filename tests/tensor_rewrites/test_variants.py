"""The rules of elementwise functions and stable forms on other dtypes and lengths than those of their cases.

Lengths that the graph does not know turn out to be 0, 1 for some operands, and more; values include NaN, infinities,
zeros of both signs and subnormal numbers. With the rules and without, dtypes and shapes are the same, and so are
integers, and floats that are finite without the rules; in `exact` cases all floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tensor_rewrites import cases_elementwise, cases_stable
from tests.tensor_rewrites.expressions import Case, Variables
from tests.tensor_rewrites.graphs import rewrite, run
from treadle.graph import explicit_graph_inputs
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor.errors import DtypeError

CASES = [*cases_elementwise.CASES, *cases_stable.CASES]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 5e-324, 1.0, -1.0, 2.5, -3.0, 0.4]
MODERATE = [-2.0, -1.25, -0.5, 0.25, 0.5, 0.75, -3.0, 0.3, 0.6, -0.9, 1.7, 2.25]
REALS = ["float64", "float32", "float16"]
WHOLES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
# Lengths of x, y, i and the other vectors; rows and columns of matrices.
LENGTHS = [(12, 12, 12, 12, 4, 3), (1, 12, 1, 12, 1, 3), (12, 1, 12, 1, 4, 1), (0, 0, 0, 0, 0, 3), (0, 1, 1, 0, 2, 3)]
# What rounding may do: dtypes that are computed with, and functions that end in a difference of large terms.
NEAR = {"float64": 1e-9, "float32": 2e-4, "float16": 4e-2}


def number(case: Case) -> str:
    return f"{case.rule}-{CASES.index(case)}"


def shape_of(var: Any, lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that a variable gets: known lengths stay."""
    vectors = dict(zip(("x", "y", "i"), lengths, strict=False))
    wanted = (vectors.get(var.name, lengths[3]),) if var.ndim == 1 else lengths[4:]
    return tuple(n if m is None else m for n, m in zip(wanted, var.type.shape, strict=False))


def value_of(var: Any, lengths: tuple[int, ...], floats: list[float], at: int) -> Any:
    shape = shape_of(var, lengths)
    kind = var.type.numpy_dtype
    if kind.kind == "f":
        source = np.roll(np.array(floats), at)
    elif kind.kind == "b":
        source = np.array([True, False, False])
    else:
        info = np.iinfo(kind)
        source = np.array([0, 1, 7, info.max, info.min, info.max - 1, 100, 2], kind)
    return np.resize(source, shape).astype(kind)


def compare(case: Case, variables: Variables, floats: list[float], everywhere: bool) -> None:
    try:
        var = case.build(variables)
    except (DtypeError, TypeError):
        # The function does not take this dtype.
        return
    inputs = list(explicit_graph_inputs([var]))
    plain, _ = rewrite(inputs, [var], RewriteDatabaseQuery())
    fgraph, _ = rewrite(inputs, [var])
    near = max(NEAR.get(getattr(v.type, "dtype", ""), 0) for v in plain.variables)
    for lengths in LENGTHS:
        values = [value_of(v, lengths, floats, at) for at, v in enumerate(inputs)]
        try:
            (old,) = run(plain, values)
        except (ValueError, IndexError):
            # These lengths do not go together.
            continue
        (new,) = run(fgraph, values)
        assert (new.dtype, new.shape) == (old.dtype, old.shape)
        if old.dtype.kind != "f":
            np.testing.assert_array_equal(new, old)
        elif everywhere:
            np.testing.assert_allclose(new, old, rtol=near, atol=near)
        else:
            finite = np.isfinite(old)
            np.testing.assert_allclose(new[finite], old[finite], rtol=near, atol=near)


@pytest.mark.parametrize("case", CASES, ids=number)
def test_case_keeps_its_values_in_other_floats_and_lengths(case: Case) -> None:
    for real in REALS:
        compare(case, Variables(real=real), MODERATE, everywhere=False)


WITH_INTEGERS = [case for case in CASES if any(v.name == "i" for v in explicit_graph_inputs([case.build(Variables())]))]


@pytest.mark.parametrize("case", WITH_INTEGERS, ids=number)
def test_case_keeps_its_values_in_other_integers(case: Case) -> None:
    for whole in WHOLES:
        compare(case, Variables(whole=whole), MODERATE, everywhere=False)


@pytest.mark.parametrize("case", [case for case in CASES if case.exact], ids=number)
def test_exact_case_agrees_at_special_numbers(case: Case) -> None:
    for real in ("float64", "float32"):
        compare(case, Variables(real=real), SPECIAL, everywhere=True)


@pytest.mark.parametrize("case", [case for case in CASES if not case.exact], ids=number)
def test_other_case_agrees_at_special_numbers_where_it_is_finite(case: Case) -> None:
    # As written, the logarithm of a product with a subnormal number is rounded; and a root is taken of what is not
    # minus infinity.
    usual = [x for x in SPECIAL if x == 0 or not abs(x) < 1e-300]
    compare(
        case,
        Variables(),
        [1.5 if x == -np.inf and case.rule == "power_minus_half" else x for x in usual],
        everywhere=False,
    )
