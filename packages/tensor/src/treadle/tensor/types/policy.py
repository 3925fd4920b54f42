"""What the options cast_policy and warn_float64 say about the expressions of the user.

Expressions that are composed, in gradients, rewrites and the functions that are made of others, follow NumPy whatever
the options say (see `treadle.graph.ir.composition`).
"""

from __future__ import annotations

import math
import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import config, lazy_module
from treadle.graph import is_composing
from treadle.tensor.errors import Float64Error, Float64Warning

if TYPE_CHECKING:
    import pdb
    from collections.abc import Sequence
    from types import FrameType

    from treadle.tensor.variables.variable import TensorVariable
else:
    pdb = lazy_module("pdb")

# Modules of treadle that make variables which did not exist before, rather than copies; all others of tensor do too.
_MAKERS = frozenset(f"treadle.graph.ir.{name}" for name in ("apply", "composition", "op", "sharing", "type"))
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_INTEGERS = ("int8", "int16", "int32", "int64")


def number_dtype(x: object) -> str | None:
    """Return the dtype that one of Python's own integers or floats has as a constant; None leaves it to NumPy."""
    if isinstance(x, float) and not isinstance(x, np.generic):
        floatx = str(config.floatX)
        if floatx == "float64" and config.cast_policy == "custom" and not is_composing() and _is_of_float32(x):
            return "float32"
        return floatx
    if type(x) is int and config.cast_policy == "custom" and not is_composing():
        return next((d for d in _INTEGERS if np.iinfo(d).min <= x <= np.iinfo(d).max), None)
    return None


def _is_of_float32(x: float) -> bool:
    return abs(x) == math.inf or (abs(x) <= _LARGEST_FLOAT32 and float(np.float32(x)) == x)


def operands_follow_policy() -> bool:
    """Whether Python numbers among the operands of a call count as tensors of a dtype of their own."""
    return config.cast_policy != "numpy" and not is_composing()


def narrowed(
    variables: Sequence[TensorVariable], result: np.dtype, *, is_quotient: bool = False, is_rounding: bool = False
) -> list[TensorVariable]:
    """Return the operands of a result's dtype (by NumPy's rules) with integers made floats as the option has them.

    numpy+floatX: they are floatX where they would make a result wider than floatX. custom: functions of integers of 16
    bits or fewer are float32, since only the option has made the user's numbers so short; a quotient stays float64.
    What is rounded (floor, ceil and trunc) is a float as well, so that arithmetic with it does not wrap around.
    """
    if config.cast_policy == "custom":
        is_short = all(v.type.numpy_dtype.kind in "biu" and v.type.numpy_dtype.itemsize <= 2 for v in variables)
        if is_rounding and result.kind in "biu":
            return [v.astype("float32" if is_short else "float64") for v in variables]
        is_cast = is_short and (result == np.float16 or (result == np.float64 and not is_quotient))
        return [v.astype("float32") for v in variables] if is_cast else list(variables)
    floatx = np.dtype(str(config.floatX))
    if not _wider(result, floatx):
        return list(variables)
    if any(_wider(v.type.numpy_dtype, floatx) for v in variables):
        return list(variables)
    return [v.astype(floatx.name) if v.type.numpy_dtype.kind in "biu" else v for v in variables]


def _wider(dtype: np.dtype, floatx: np.dtype) -> bool:
    size = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    return dtype.kind in "fc" and size > floatx.itemsize


def check_float64(described: object) -> None:
    """Do what the option warn_float64 says about a float64 variable of some type that the user's expressions make."""
    action = config.warn_float64
    place = _builder()
    if action == "ignore" or place is None:
        return
    frame, depth = place
    msg = (
        f"warn_float64: a float64 tensor variable of type {described} is made at {frame.f_code.co_filename}:"
        f"{frame.f_lineno}, and the option is {action!r}. Give it a shorter dtype, or cast its operands."
    )
    if action == "raise":
        raise Float64Error(msg)
    if action == "warn":
        warnings.warn(msg, Float64Warning, stacklevel=depth)
    else:
        pdb.Pdb().set_trace(frame)


def _builder() -> tuple[FrameType, int] | None:
    """Return the user's frame that makes the variable at hand, and its distance; None where a graph is copied."""
    frame = sys._getframe(1)
    depth = 1
    while frame.f_back is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if not module.startswith("treadle."):
            return frame, depth
        makes_new = module in _MAKERS or module.startswith(("treadle.tensor.", "treadle.surface."))
        if not makes_new or module.startswith(("treadle.tensor.rewrites", "treadle.surface.rewriters")):
            return None
        frame = frame.f_back
        depth += 1
    return frame, depth
