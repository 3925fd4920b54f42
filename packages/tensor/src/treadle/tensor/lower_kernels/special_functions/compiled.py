"""Special functions that SciPy has as compiled functions."""

from __future__ import annotations

from typing import TypeVar

from treadle.kernels import kernel, kernel_of_text
from treadle.kernels.language import Number, log, special
from treadle.tensor.linking.scalar_table import SCALAR_KERNELS

T = TypeVar("T", bound=Number)
# The least number whose bits have no zeros at their beginning.
_LEAST_NORMAL = 2.0**-1022

# By the number of operands; treadle's scalar ops have these names too.
_FUNCTIONS = {
    1: (
        "erfcinv", "erfinv", "gamma", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "ndtri",
        "ndtri_exp", "psi", "y0", "y1",
    ),
    2: (
        "beta", "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "iv", "ive", "jv", "kv", "kve", "owens_t",
        "poch", "yv",
    ),
    3: ("betainc", "betaincinv"),
    4: ("hyp2f1",),
}  # fmt: skip
# Scalar ops that have another name than SciPy's function.
_OWN_NAMES = {"psi": "digamma"}


@kernel
def gammaln(x: float) -> float:
    """Return log |Γ(x)|. SciPy's result is infinite for numbers whose inverse is not finite."""
    size = abs(x)
    if 0 < size < _LEAST_NORMAL:
        return -log(size)
    return special.gammaln(x)


SCALAR_KERNELS.register("gammaln", {"f": gammaln})
for _count, _names in _FUNCTIONS.items():
    _operands = [f"x{k}" for k in range(_count)]
    for _name in _names:
        _text = f"""\
def special_{_name}({", ".join(f"{x}: T" for x in _operands)}) -> T:
    return special.{_name}({", ".join(_operands)})
"""
        _kernel = kernel_of_text(f"special_{_name}", _text, {"T": T, "special": special}, inline=True)
        SCALAR_KERNELS.register(_OWN_NAMES.get(_name, _name), {"f": _kernel})
