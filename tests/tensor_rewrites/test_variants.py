"""The rules of elementwise functions and stable forms on other dtypes and lengths than those of their cases.

Lengths that the graph does not know turn out to be 0, 1 for some operands, and more; values include NaN, infinities,
zeros of both signs and subnormal numbers. With the rules and without, dtypes and shapes are the same, and so are
integers, and floats that are finite without the rules; in `exact` cases all floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.tensor_rewrites import cases_elementwise, cases_stable
from tests.tensor_rewrites.expressions import Case, Rewritten, Variables, rewritten
from treadle.tensor.errors import DtypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = [*cases_elementwise.CASES, *cases_stable.CASES]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 5e-324, 1.0, -1.0, 2.5, -3.0, 0.4]
MODERATE = [-2.0, -1.25, -0.5, 0.25, 0.5, 0.75, -3.0, 0.3, 0.6, -0.9, 1.7, 2.25]
REALS = ["float64", "float32", "float16"]
WHOLES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
# Lengths of x, y, i and the other vectors; rows and columns of matrices.
LENGTHS = [(12, 12, 12, 12, 4, 3), (1, 12, 1, 12, 1, 3), (12, 1, 12, 1, 4, 1), (0, 0, 0, 0, 0, 3), (0, 1, 1, 0, 2, 3)]
# How much rounding may change: by dtypes of the computation, and by functions that end in a cancelling difference.
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


def compare(both_forms: Rewritten, floats: list[float], everywhere: bool) -> None:
    """Check that an expression keeps its values, or where it is finite only, for all lengths that go together."""
    near = max(NEAR.get(getattr(v.type, "dtype", ""), 0) for v in both_forms.plain.variables)
    for lengths in LENGTHS:
        values = [value_of(v, lengths, floats, at) for at, v in enumerate(both_forms.inputs)]
        try:
            (old,) = both_forms.before(values)
        except (ValueError, IndexError):
            # These lengths do not fit together.
            continue
        (new,) = both_forms.after(values)
        assert (new.dtype, new.shape) == (old.dtype, old.shape)
        dtypes = " ".join(str(v.type) for v in both_forms.inputs)
        if old.dtype.kind != "f":
            np.testing.assert_array_equal(new, old, err_msg=dtypes)
        elif everywhere:
            np.testing.assert_allclose(new, old, rtol=near, atol=near, err_msg=dtypes)
        else:
            finite = np.isfinite(old)
            np.testing.assert_allclose(new[finite], old[finite], rtol=near, atol=near, err_msg=dtypes)


def in_other_dtypes(case: Case) -> Iterator[tuple[str, str, Rewritten]]:
    """Yield the dtypes of floats and of integers, and the case in these: all that it takes."""
    usual = rewritten(case)
    yield "float64", "int64", usual
    others = [(real, "int64") for real in REALS[1:]]
    if any(v.name == "i" for v in usual.inputs):
        others += [("float64", whole) for whole in WHOLES if whole != "int64"]
    for real, whole in others:
        try:
            var = case.build(Variables(real, whole))
        except (DtypeError, TypeError):
            # The function does not take this dtype.
            continue
        yield real, whole, Rewritten(var)


def special_numbers(case: Case) -> list[float]:
    """Return the special numbers at which a case that is not exact is right where it is finite."""
    # As written, the logarithm of a product with a subnormal number is rounded; and a root is taken of what is not
    # minus infinity.
    usual = [x for x in SPECIAL if x == 0 or not abs(x) < 1e-300]
    return [1.5 if x == -np.inf and case.rule == "power_minus_half" else x for x in usual]


@pytest.mark.parametrize("case", CASES, ids=number)
def test_case_keeps_its_values_in_other_dtypes_and_lengths_and_at_special_numbers(case: Case) -> None:
    for real, whole, both_forms in in_other_dtypes(case):
        compare(both_forms, MODERATE, everywhere=False)
        if case.exact and real != "float16" and whole == "int64":
            compare(both_forms, SPECIAL, everywhere=True)
        elif (real, whole) == ("float64", "int64"):
            compare(both_forms, special_numbers(case), everywhere=False)
