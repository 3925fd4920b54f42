"""Rounding: constant in pieces, so the gradient is zero wherever it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from treadle.config import alias
from treadle.tensor.arguments.values import as_choice, as_integer
from treadle.tensor.elementwise.arithmetic import add, sign, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import ge
from treadle.tensor.elementwise.elemwise import elementwise
from treadle.tensor.errors import ArgumentError, DtypeError
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.dtype_rules import of_ufunc, same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.types.dtype_rules import Operand, Signature
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


__all__ = ["around", "ceil", "fix", "floor", "iround", "round_half_away_from_zero", "round_half_to_even", "trunc"]


# Beyond, powers of ten are no float64.
MOST_PLACES = 308


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


def _half_away(x: TensorVariable) -> TensorVariable:
    """Round to the nearest integer, halves away from zero (C's round)."""
    truncated = trunc(x)
    return switch(ge(abs(x - truncated), 0.5), add(truncated, sign(x)), truncated)


def _numpy_half_away(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "f":
        return np.array(x)
    truncated = np.trunc(x)
    rounded: np.ndarray = np.where(np.abs(x - truncated) >= 0.5, truncated + np.sign(x), truncated).astype(x.dtype)
    return rounded


def _rint(x: np.ndarray) -> np.ndarray:
    return np.array(x) if x.dtype.kind in "iu" else np.rint(x)


ceil = elementwise(
    ufunc="ceil", latex=r"\left\lceil #1 \right\rceil", cheap=True, idempotent=True, discrete=True,
    monotone="increasing",
)  # fmt: skip
floor = elementwise(
    ufunc="floor", latex=r"\left\lfloor #1 \right\rfloor", cheap=True, idempotent=True, discrete=True,
    monotone="increasing",
)  # fmt: skip
trunc = elementwise(ufunc="trunc", cheap=True, idempotent=True, discrete=True, monotone="increasing", parity="odd")
round_half_to_even = elementwise(
    name="round_half_to_even", cheap=True, dtypes=_rint_dtypes, impl=_rint, idempotent=True, discrete=True,
    monotone="increasing", parity="odd",
)  # fmt: skip
round_half_away_from_zero = elementwise(
    name="round_half_away_from_zero", cheap=True, dtypes=_half_away_dtypes, body=_half_away, impl=_numpy_half_away,
    idempotent=True, discrete=True, monotone="increasing", parity="odd",
)  # fmt: skip


fix = alias(trunc, "fix")


def round_(a: TensorLike, decimals: SupportsIndex | str | None = 0, mode: str | None = None) -> TensorVariable:
    """Round to a number of decimals (as numpy.round), keeping the dtype; bool becomes float16.

    Parameters
    ----------
    a
        A tensor.
    decimals
        How many decimals are kept; a negative number rounds to tens, hundreds and so on. A mode may stand here too.
    mode
        ``half_to_even`` (the default, NumPy's) or ``half_away_from_zero`` (C's).

    Examples
    --------
    >>> tt.round([1.234, 5.678], 2).eval()
    array([1.23, 5.68])
    """
    if decimals is None or isinstance(decimals, str):
        mode, decimals = decimals, 0
    places = as_integer("round: decimals", decimals)
    chosen = as_choice("round: the mode", mode, (None, "half_to_even", "half_away_from_zero"))
    rounded = round_half_away_from_zero if chosen == "half_away_from_zero" else round_half_to_even
    x = as_tensor_variable(a)
    is_integer = x.type.numpy_dtype.kind in "iu"
    if places == 0 or (is_integer and places > 0):
        return rounded(x)
    if x.dtype == "bool":
        msg = f"round: truth values have no decimals, got {places} of them. Cast to a float or integer first."
        raise DtypeError(msg)
    if abs(places) > MOST_PLACES:
        msg = f"round: decimals must be from -{MOST_PLACES} to {MOST_PLACES}, got {places}. Pass a smaller number."
        raise ArgumentError(msg)
    scale = 10.0 ** abs(places)
    if places > 0:
        return rounded(x * scale) / scale
    scaled = true_div(x, scale)
    return cast(rounded(cast(scaled, "float64")) * scale, x.dtype) if is_integer else rounded(scaled) * scale


around = alias(round_, "around")


def iround(a: TensorLike, mode: str | None = None) -> TensorVariable:
    """Round to the nearest integer, as int64 (modes as for `round_`).

    Examples
    --------
    >>> tt.iround([1.4, 1.6]).eval()
    array([1, 2])
    """
    return cast(round_(a, mode=mode), "int64")
