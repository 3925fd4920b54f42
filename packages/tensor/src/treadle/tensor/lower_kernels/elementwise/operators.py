"""Expressions of scalar ops that C and Numba have alike: ``{0}`` and ``{1}`` are the operands.

``libm_exp_{t}`` is a function of the C library, for numbers of the type computed with, ``libmc_exp_{t}`` one of complex
numbers; ``int_gcd_{t}`` is a function of integers that each backend has. ``pick(c, x, y)`` is x where c holds, else y;
``sqrt`` and others are instructions.
"""

from __future__ import annotations

from treadle.tensor.elementwise.cast import CASTS
from treadle.tensor.linking.scalar_table import SCALAR_KERNELS

_TRIGONOMETRIC = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
# What complex numbers can be cast to.
_FROM_COMPLEX = ("bool", "complex64", "complex128")

for _name, _kinds, _text in (
    ("add", "fiuc", "{0} + {1}"),
    ("add", "b", "{0} | {1}"),
    ("sub", "fiuc", "{0} - {1}"),
    ("mul", "fiu", "{0} * {1}"),
    ("mul", "b", "{0} & {1}"),
    ("true_div", "f", "{0} / {1}"),
    ("neg", "fiuc", "-{0}"),
    ("identity", "fiubc", "{0}"),
    ("second", "fiubc", "{1}"),
    ("real", "fiub", "{0}"),
    ("conj", "fiu", "{0}"),
    # Comparisons; those of int64 with uint64 are each backend's own.
    ("eq", "fiubc", "{0} == {1}"),
    ("neq", "fiubc", "{0} != {1}"),
    ("lt", "fiub", "{0} < {1}"),
    ("le", "fiub", "{0} <= {1}"),
    ("gt", "fiub", "{0} > {1}"),
    ("ge", "fiub", "{0} >= {1}"),
    # Logic, bit by bit.
    ("and", "iub", "{0} & {1}"),
    ("or", "iub", "{0} | {1}"),
    ("xor", "iub", "{0} ^ {1}"),
    ("invert", "iu", "~{0}"),
    ("invert", "b", "{0} == 0"),
    # Selection.
    ("switch", "fiubc", "pick({0}, {1}, {2})"),
    ("maximum", "iu", "pick({0} > {1}, {0}, {1})"),
    ("minimum", "iu", "pick({0} < {1}, {0}, {1})"),
    ("maximum", "b", "{0} | {1}"),
    ("minimum", "b", "{0} & {1}"),
    # Instructions.
    *((name, "f", f"{name}({{0}})") for name in ("ceil", "floor", "trunc", "sqrt")),
    ("round_half_to_even", "f", "rint({0})"),
    *((name, "iub", "{0}") for name in ("ceil", "floor", "trunc", "round_half_to_even")),
    ("abs", "f", "fabs({0})"),
    ("abs", "ub", "{0}"),
    ("copysign", "f", "copysign({0}, {1})"),
    # Integers.
    *(
        (name, "iu", f"int_{name}_{{t}}({{0}}, {{1}})")
        for name in ("floor_div", "mod", "pow", "gcd", "left_shift", "right_shift")
    ),
    # Casts: what is computed is converted to the dtype of the result anyway.
    *((cast.name, "fiub", "({0} != 0)" if dtype == "bool" else "{0}") for dtype, cast in CASTS.items()),
    *((CASTS[dtype].name, "c", "({0} != 0)" if dtype == "bool" else "{0}") for dtype in _FROM_COMPLEX),
):
    SCALAR_KERNELS.register(_name, {_kinds: _text})

for _name in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", *_TRIGONOMETRIC, "erf", "erfc", "cbrt",
):  # fmt: skip
    SCALAR_KERNELS.register(_name, {"f": f"libm_{_name}_{{t}}({{0}})"})
for _name in ("exp", "log", "sqrt", *_TRIGONOMETRIC):
    SCALAR_KERNELS.register(_name, {"c": f"libmc_{_name}_{{t}}({{0}})"})
for _name in _TRIGONOMETRIC:
    SCALAR_KERNELS.register(f"arc{_name}", {"f": f"libm_a{_name}_{{t}}({{0}})", "c": f"libmc_a{_name}_{{t}}({{0}})"})
for _name, _function in {
    "arctan2": "atan2",
    **{_same: _same for _same in ("pow", "hypot", "nextafter", "fmod")},
}.items():
    SCALAR_KERNELS.register(_name, {"f": f"libm_{_function}_{{t}}({{0}}, {{1}})"})
