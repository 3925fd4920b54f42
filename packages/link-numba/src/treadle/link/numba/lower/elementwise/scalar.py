"""Numba texts of scalar ops: Python expressions, with functions of `treadle.link.numba.text.library`.

Operators and functions of the C library that C has alike are in
`treadle.tensor.lower_kernels.elementwise.operators`.
"""

from __future__ import annotations

import math

from treadle.link.numba.scalars import SCALARS

for _name, _texts in {
    "sign": {
        "f": "pick({0} > 0, {t}(1), pick({0} < 0, {t}(-1), pick({0} == 0, {t}(0), {0})))",
        "iu": "i8({0} > 0) - i8({0} < 0)",
    },
    "abs": {"i": "pick({0} < 0, {t}(-{0}), {0})"},
    "maximum": {"f": "pick({0} != {0}, {0}, pick({0} > {1}, {0}, {1}))"},
    "minimum": {"f": "pick({0} != {0}, {0}, pick({0} < {1}, {0}, {1}))"},
    "imag": {"fiu": "{t}(0)", "b": "False"},
    "reciprocal": {"f": "{t}(1) / {0}"},
    "ldexp": {"f": "ldexp_{t}({0}, i8({1}))"},
    "bitwise_count": {"i": "ctpop({t}(abs({0})))", "u": "ctpop({0})"},
    "complex": {"f": "compose_{t}({0}, {1})"},
}.items():
    SCALARS.register(_name, _texts)

# Complex numbers: libm's functions, as in NumPy.
for _name, _text in {
    "mul": "{0} * {1}",
    "abs": "size_{t}({0})",
    "real": "re_{t}({0})",
    "imag": "im_{t}({0})",
    "conj": "conj_{t}({0})",
    "exp2": f"{{t}}(libmc_exp_c16(c16({{0}} * {math.log(2)!r})))",
    "log2": f"{{t}}(libmc_log_c16(c16({{0}}))) * {1 / math.log(2)!r}",
    "log10": f"{{t}}(libmc_log_c16(c16({{0}}))) * {1 / math.log(10)!r}",
}.items():
    SCALARS.register(_name, {"c": _text})
