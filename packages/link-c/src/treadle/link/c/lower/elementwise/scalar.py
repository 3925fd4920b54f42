"""C texts of scalar ops: expressions that compilers vectorize, and functions of the C library.

Operators and functions of the C library that Numba's text has alike are in
`treadle.tensor.lower_kernels.elementwise.operators`.
"""

from __future__ import annotations

from treadle.link.c.runtime.vectors import KERNEL_BLOCKS
from treadle.link.c.text.scalars import SCALARS

for _name, _texts in {
    "floor_div": {"f": "tr_floor_div_{t}({0}, {1})"},
    "mod": {"f": "tr_mod_{t}({0}, {1})"},
    "sign": {"f": "{0} > 0 ? 1 : {0} < 0 ? -1 : {0} == 0 ? 0 : {0}", "i": "({0} > 0) - ({0} < 0)", "u": "{0} > 0"},
    "abs": {"i": "{0} < 0 ? -{0} : {0}"},
    "maximum": {"f": "({0} > {1} || {0} != {0}) ? {0} : {1}"},
    "minimum": {"f": "({0} < {1} || {0} != {0}) ? {0} : {1}"},
    "imag": {"fiub": "0"},
    # Compilers have a builtin for this function, which takes two thirds of the time of its body.
    "round_half_away_from_zero": {"f": "round{s}({0})"},
    "reciprocal": {"f": "1 / {0}"},
    # Parts and neighbours of floats.
    "ldexp": {"f": "ldexp{s}({0}, {1} > 5000 ? 5000 : {1} < -5000 ? -5000 : (int){1})"},
    "frexp_mantissa": {"f": "tr_mantissa_{t}({0})"},
    "spacing": {"f": "tr_spacing_{t}({0})"},
    "bitwise_count": {
        "i": "__builtin_popcountll({0} < 0 ? -(uint64_t){0} : (uint64_t){0})",
        "u": "__builtin_popcountll({0})",
    },
    "complex": {"f": "__builtin_complex({0}, {1})"},
}.items():
    SCALARS.register(_name, _texts)

# In place of kernels of one number, those of many, `treadle.tensor.BLOCK_KERNELS`: a fifth to a quarter of the time.
for _name in KERNEL_BLOCKS:
    SCALARS.register(_name, {"f": f"tr_v_{_name}_{{t}}({{0}})"})

# Complex numbers: C's functions, where NumPy calls them too. C's own * and / treat infinite operands specially, which
# takes several times as long and differs from NumPy.
for _name, _text in {
    "mul": "tr_k_times_{t}({0}, {1})",
    "abs": "tr_size_{t}({0})",
    "real": "__builtin_creal{s}({0})",
    "imag": "__builtin_cimag{s}({0})",
    "conj": "__builtin_conj{s}({0})",
    "exp2": "__builtin_cexp{s}(tr_scaled_{t}({0}, M_LN2))",
    "log2": "tr_scaled_{t}(__builtin_clog{s}({0}), M_LOG2E)",
    "log10": "tr_scaled_{t}(__builtin_clog{s}({0}), M_LOG10E)",
}.items():
    SCALARS.register(_name, {"c": _text})
