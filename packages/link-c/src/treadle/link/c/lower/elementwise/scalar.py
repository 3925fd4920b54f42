"""C texts of scalar ops: expressions that compilers vectorize, and functions of the C library.

Operators and functions of the C library that Numba's text has alike are in
`treadle.tensor.lower_kernels.elementwise.operators`.
"""

from __future__ import annotations

from treadle.link.c.runtime.vectors import KERNEL_BLOCKS
from treadle.link.c.text.scalars import SCALARS
from treadle.tensor import CASTS

for _name, _texts in {
    "add": {"b": "{0} || {1}"},
    "mul": {"b": "{0} && {1}"},
    "floor_div": {"fiu": "tr_floor_div_{t}({0}, {1})"},
    "mod": {"fiu": "tr_mod_{t}({0}, {1})"},
    "sign": {"f": "{0} > 0 ? 1 : {0} < 0 ? -1 : {0} == 0 ? 0 : {0}", "i": "({0} > 0) - ({0} < 0)", "u": "{0} > 0"},
    "abs": {"f": "fabs{s}({0})", "i": "{0} < 0 ? -{0} : {0}", "ub": "{0}"},
    "maximum": {"f": "({0} > {1} || {0} != {0}) ? {0} : {1}", "iub": "{0} > {1} ? {0} : {1}"},
    "minimum": {"f": "({0} < {1} || {0} != {0}) ? {0} : {1}", "iub": "{0} < {1} ? {0} : {1}"},
    "switch": {"fiub": "{0} ? {1} : {2}"},
    "imag": {"fiub": "0"},
    "invert": {"b": "!{0}"},
    "left_shift": {"iu": "tr_shl_{t}({0}, {1})"},
    "right_shift": {"iu": "tr_shr_{t}({0}, {1})"},
    # Rounding.
    "ceil": {"f": "ceil{s}({0})", "iub": "{0}"},
    "floor": {"f": "floor{s}({0})", "iub": "{0}"},
    "trunc": {"f": "trunc{s}({0})", "iub": "{0}"},
    "round_half_to_even": {"f": "rint{s}({0})", "iu": "{0}"},
    # Compilers have a builtin for this function, which takes two thirds of the time of its body.
    "round_half_away_from_zero": {"f": "round{s}({0})"},
    # Powers.
    "sqrt": {"f": "sqrt{s}({0})"},
    "reciprocal": {"f": "1 / {0}"},
    "pow": {"iu": "tr_pow_{t}({0}, {1})"},
    # Parts and neighbours of floats.
    "copysign": {"f": "copysign{s}({0}, {1})"},
    "ldexp": {"f": "ldexp{s}({0}, {1} > 5000 ? 5000 : {1} < -5000 ? -5000 : (int){1})"},
    "frexp_mantissa": {"f": "tr_mantissa_{t}({0})"},
    "spacing": {"f": "tr_spacing_{t}({0})"},
    # Integers.
    "gcd": {"iu": "tr_gcd_{t}({0}, {1})"},
    "bitwise_count": {
        "i": "__builtin_popcountll({0} < 0 ? -(uint64_t){0} : (uint64_t){0})",
        "u": "__builtin_popcountll({0})",
    },
}.items():
    SCALARS.register(_name, _texts)

# Casts: every computed value is converted to the dtype of the result anyway.
for _dtype, _cast in CASTS.items():
    SCALARS.register(_cast.name, {"fiub": "({0} != 0)" if _dtype == "bool" else "{0}"})

# In place of kernels of one number, those of many, `treadle.tensor.BLOCK_KERNELS`: a fifth to a quarter of the time.
for _name in KERNEL_BLOCKS:
    SCALARS.register(_name, {"f": f"tr_v_{_name}_{{t}}({{0}})"})

# Complex numbers: C's functions, where NumPy calls them too.
for _name, _text in {
    "mul": "tr_mul_{t}({0}, {1})",
    "neg": "tr_neg_{t}({0})",
    "abs": "tr_size_{t}({0})",
    "real": "__builtin_creal{s}({0})",
    "imag": "__builtin_cimag{s}({0})",
    "conj": "__builtin_conj{s}({0})",
    "exp2": "__builtin_cexp{s}(tr_scaled_{t}({0}, M_LN2))",
    "log2": "tr_scaled_{t}(__builtin_clog{s}({0}), M_LOG2E)",
    "log10": "tr_scaled_{t}(__builtin_clog{s}({0}), M_LOG10E)",
    **{_function: f"__builtin_c{_function}{{s}}({{0}})" for _function in ("exp", "log", "sqrt")},
    **{_function: f"__builtin_c{_function}{{s}}({{0}})" for _function in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"arc{_function}": f"__builtin_ca{_function}{{s}}({{0}})" for _function in ("sin", "cos", "tan")},
    **{f"arc{_function}": f"__builtin_ca{_function}{{s}}({{0}})" for _function in ("sinh", "cosh", "tanh")},
}.items():
    SCALARS.register(_name, {"c": _text})
for _dtype in ("bool", "complex64", "complex128"):
    SCALARS.register(CASTS[_dtype].name, {"c": "({0} != 0)" if _dtype == "bool" else "{0}"})
SCALARS.register("complex", {"f": "__builtin_complex({0}, {1})"})
