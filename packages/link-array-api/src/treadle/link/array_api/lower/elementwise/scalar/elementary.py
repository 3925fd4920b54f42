"""Copies, choices, casts, rounding, and what floats have; other elementary functions are found by NumPy's names."""

from __future__ import annotations

from typing import Any

from treadle.link.array_api.table import SCALARS, Array, copied, named
from treadle.tensor import ALL_KINDS, CASTS

# Operands are converted to the dtype of the result before.
for _name in ("identity", *(cast.name for cast in CASTS.values())):
    SCALARS.register(_name, {ALL_KINDS: copied})
SCALARS.register("second", {ALL_KINDS: lambda xp: lambda x, y: xp.broadcast_arrays(x, y)[1]})
SCALARS.register("switch", {ALL_KINDS: lambda xp: xp.where})

for _name, _standard in (("ceil", "ceil"), ("floor", "floor"), ("trunc", "trunc"), ("round_half_to_even", "round")):
    SCALARS.register(_name, {"biu": copied, "f": named(_standard)})
SCALARS.register("round_half_to_even", {"c": lambda xp: xp.round})

for _name in ("isnan", "isinf", "isfinite", "hypot", "logaddexp", "copysign", "signbit"):
    SCALARS.register(_name, {"f": named(_name)})


@SCALARS.function("sign", kinds="f")
def sign(xp: Any) -> Any:
    """The sign, NaN of NaN, for which libraries may have 0."""

    def run(x: Array) -> Array:
        return xp.where(xp.isnan(x), x, xp.sign(x))

    return run
