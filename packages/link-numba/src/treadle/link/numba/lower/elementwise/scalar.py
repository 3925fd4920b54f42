"""Numba texts of scalar ops: Python expressions, with functions of `treadle.link.numba.text.library`.

Operators and functions of the C library that C has alike are in
`treadle.tensor.lower_kernels.elementwise.operators`.
"""

from __future__ import annotations

import math

from treadle.link.numba.scalars import SCALARS
from treadle.tensor import CASTS

for _name, _texts in {
    "add": {"b": "{0} | {1}"},
    "mul": {"b": "{0} & {1}"},
    "floor_div": {"iu": "floor_div_{t}({0}, {1})"},
    "mod": {"iu": "mod_{t}({0}, {1})"},
    "sign": {
        "f": "pick({0} > 0, {t}(1), pick({0} < 0, {t}(-1), pick({0} == 0, {t}(0), {0})))",
        "iu": "i8({0} > 0) - i8({0} < 0)",
    },
    "abs": {"f": "fabs({0})", "i": "pick({0} < 0, {t}(-{0}), {0})", "ub": "{0}"},
    "maximum": {
        "f": "pick({0} != {0}, {0}, pick({0} > {1}, {0}, {1}))",
        "iu": "pick({0} > {1}, {0}, {1})",
        "b": "{0} | {1}",
    },
    "minimum": {
        "f": "pick({0} != {0}, {0}, pick({0} < {1}, {0}, {1}))",
        "iu": "pick({0} < {1}, {0}, {1})",
        "b": "{0} & {1}",
    },
    "switch": {"fiub": "pick({0}, {1}, {2})"},
    "imag": {"fiu": "{t}(0)", "b": "False"},
    "invert": {"b": "{0} == 0"},
    "left_shift": {"iu": "left_shift_{t}({0}, {1})"},
    "right_shift": {"iu": "right_shift_{t}({0}, {1})"},
    # Rounding.
    "ceil": {"f": "ceil({0})", "iub": "{0}"},
    "floor": {"f": "floor({0})", "iub": "{0}"},
    "trunc": {"f": "trunc({0})", "iub": "{0}"},
    "round_half_to_even": {"f": "rint({0})", "iub": "{0}"},
    # Powers.
    "sqrt": {"f": "sqrt({0})"},
    "reciprocal": {"f": "{t}(1) / {0}"},
    "pow": {"iu": "pow_{t}({0}, {1})"},
    # Parts and neighbours of floats.
    "copysign": {"f": "copysign({0}, {1})"},
    "ldexp": {"f": "ldexp_{t}({0}, i8({1}))"},
    # Integers.
    "gcd": {"iu": "gcd_{t}({0}, {1})"},
    "bitwise_count": {"i": "ctpop({t}(abs({0})))", "u": "ctpop({0})"},
}.items():
    SCALARS.register(_name, _texts)

# Casts: their operand already has the dtype of the result when the text is filled in.
for _cast in CASTS.values():
    SCALARS.register(_cast.name, {"fiub": "{0}"})

# Complex numbers: libm's functions, as in NumPy.
for _name, _text in {
    "mul": "{0} * {1}",
    "neg": "-{0}",
    "abs": "size_{t}({0})",
    "switch": "pick({0}, {1}, {2})",
    "real": "re_{t}({0})",
    "imag": "im_{t}({0})",
    "conj": "conj_{t}({0})",
    "exp2": f"{{t}}(libmc_exp(c16({{0}} * {math.log(2)!r})))",
    "log2": f"{{t}}(libmc_log(c16({{0}}))) * {1 / math.log(2)!r}",
    "log10": f"{{t}}(libmc_log(c16({{0}}))) * {1 / math.log(10)!r}",
    **{_function: f"{{t}}(libmc_{_function}(c16({{0}})))" for _function in ("exp", "log", "sqrt", "sin", "cos", "tan")},
    **{_function: f"{{t}}(libmc_{_function}(c16({{0}})))" for _function in ("sinh", "cosh", "tanh")},
    **{f"arc{_function}": f"{{t}}(libmc_a{_function}(c16({{0}})))" for _function in ("sin", "cos", "tan")},
    **{f"arc{_function}": f"{{t}}(libmc_a{_function}(c16({{0}})))" for _function in ("sinh", "cosh", "tanh")},
}.items():
    SCALARS.register(_name, {"c": _text})
for _cast in CASTS.values():
    SCALARS.register(_cast.name, {"c": "{0}"})
SCALARS.register("complex", {"f": "compose_{t}({0}, {1})"})
