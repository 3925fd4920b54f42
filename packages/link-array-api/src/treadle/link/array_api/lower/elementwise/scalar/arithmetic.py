"""Arithmetic: integers wrap, division by zero gives 0, as in NumPy."""

from __future__ import annotations

from typing import Any

from treadle.link.array_api.lower.elementwise.scalar.complex_numbers import functions_of
from treadle.link.array_api.table import SCALARS, Array, Kernel, copied

SCALARS.register("add", {"iufc": lambda xp: xp.add, "b": lambda xp: xp.logical_or})
SCALARS.register("sub", {"iufc": lambda xp: xp.subtract})
SCALARS.register("mul", {"iufc": lambda xp: xp.multiply, "b": lambda xp: xp.logical_and})
SCALARS.register("neg", {"ifc": lambda xp: xp.negative, "u": lambda xp: lambda x: xp.subtract(xp.zeros_like(x), x)})
SCALARS.register("true_div", {"fc": lambda xp: xp.divide})
SCALARS.register("abs", {"ifc": lambda xp: xp.abs, "bu": copied})
SCALARS.register("maximum", {"iuf": lambda xp: xp.maximum, "b": lambda xp: xp.logical_or})
SCALARS.register("minimum", {"iuf": lambda xp: xp.minimum, "b": lambda xp: xp.logical_and})
SCALARS.register("sign", {"iu": lambda xp: xp.sign})
SCALARS.register("pow", {"f": lambda xp: xp.pow})
SCALARS.register("floor_div", {"f": lambda xp: xp.floor_divide})
SCALARS.register("mod", {"f": lambda xp: xp.remainder})
SCALARS.register("exp2", {"f": lambda xp: lambda x: xp.pow(2.0, x)})
SCALARS.register("reciprocal", {"f": lambda xp: lambda x: xp.divide(xp.ones_like(x), x)})


def _division(name: str, signed: bool, negate: bool) -> Kernel:
    return lambda xp: functions_of(xp).integer_division(getattr(xp, name), signed, negate)


for _kind, _signed in (("i", True), ("u", False)):
    SCALARS.register("floor_div", {_kind: _division("floor_divide", _signed, negate=True)})
    SCALARS.register("mod", {_kind: _division("remainder", _signed, negate=False)})


@SCALARS.function("pow", kinds="iu")
def integer_power(xp: Any) -> Any:
    """A power of integers by squaring, which wraps; a negative exponent is an error, as in NumPy."""

    def run(a: Array, b: Array) -> Array:
        if xp.isdtype(b.dtype, "signed integer") and bool(xp.any(b < 0)):
            msg = "an integer is raised to a negative power"
            raise ValueError(msg)
        power = xp.ones_like(a)
        while bool(xp.any(b != 0)):
            power = xp.where((b & 1) != 0, power * a, power)
            a, b = a * a, b >> 1
        return power + xp.zeros_like(a)

    return run
