"""Rounding: constant in pieces, so the gradient is zero wherever it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.arguments import as_choice
from treadle.tensor.broadcasting import zeros_like
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar.cast import cast
from treadle.tensor.scalar_op import ScalarOp, of_ufunc, same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.scalar_op import Operand, Signature


def _zero(ct: Any, out: Any, xs: Any) -> Sequence[Variable | None]:
    del out, xs
    return (zeros_like(ct),)


def _rint_dtypes(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of numpy.round: integers stay as they are, bool becomes float16."""
    (dtype,), _ = same(operands)
    return ((dtype,), dtype) if dtype.kind in "iu" else of_ufunc("rint")(operands)


def _half_away_dtypes(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of C's round: as for numpy.round, of real numbers."""
    loops, out = _rint_dtypes(operands)
    if out.kind == "c":
        msg = "halves of complex numbers have no direction"
        raise TypeError(msg)
    return loops, out


def _half_away(x: Any) -> Any:
    """Round to the nearest integer, halves away from zero (C's round)."""
    if x.dtype.kind != "f":
        return np.array(x)
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole).astype(x.dtype)


def _rint(x: Any) -> Any:
    return np.array(x) if x.dtype.kind in "iu" else np.rint(x)


def _row(name: str, ufunc: str, c: str) -> Elemwise:
    return Elemwise(
        ScalarOp(
            name,
            1,
            of_ufunc(ufunc),
            getattr(np, ufunc),
            {"f": c, "iub": "{0}"},
            _zero,
            ufunc=ufunc,
            idempotent=True,
            discrete=True,
            cost=2,
        )
    )


ceil: Elemwise = _row("ceil", "ceil", "ceil{s}({0})")
floor: Elemwise = _row("floor", "floor", "floor{s}({0})")
trunc: Elemwise = _row("trunc", "trunc", "trunc{s}({0})")


def _round_row(
    name: str, dtypes: Callable[[Sequence[Operand]], Signature], impl: Callable[[Any], Any], c: str
) -> Elemwise:
    return Elemwise(
        ScalarOp(name, 1, dtypes, impl, {"f": c, "iu": "{0}"}, _zero, idempotent=True, discrete=True, cost=2)
    )


round_half_to_even: Elemwise = _round_row("round_half_to_even", _rint_dtypes, _rint, "rint{s}({0})")
round_half_away_from_zero: Elemwise = _round_row(
    "round_half_away_from_zero", _half_away_dtypes, _half_away, "round{s}({0})"
)


def round_(x: Any, mode: str | None = None) -> Any:
    """Round to the nearest integer, keeping the dtype.

    Parameters
    ----------
    x
        A tensor.
    mode
        ``half_to_even`` (the default, NumPy's) or ``half_away_from_zero`` (C's).
    """
    chosen = as_choice("round: the mode", mode, (None, "half_to_even", "half_away_from_zero"))
    return round_half_away_from_zero(x) if chosen == "half_away_from_zero" else round_half_to_even(x)


def iround(x: Any, mode: str | None = None) -> Any:
    """Round to the nearest integer, as int64 (modes as for `round_`)."""
    return cast(round_(x, mode), "int64")
