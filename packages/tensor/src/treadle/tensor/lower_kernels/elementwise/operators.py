"""Expressions of scalar ops that C and Numba have alike: ``{0}`` and ``{1}`` are the operands.

``libm_exp_{t}`` stands for a function of the C library, for numbers of the type computed with.
"""

from __future__ import annotations

from treadle.tensor.linking.scalar_table import SCALAR_KERNELS

for _name, _kinds, _text in (
    ("add", "fiuc", "{0} + {1}"),
    ("sub", "fiuc", "{0} - {1}"),
    ("mul", "fiu", "{0} * {1}"),
    ("true_div", "f", "{0} / {1}"),
    ("neg", "fiu", "-{0}"),
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
):
    SCALAR_KERNELS.register(_name, {_kinds: _text})

for _name in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "erf", "erfc",
    "cbrt",
):  # fmt: skip
    SCALAR_KERNELS.register(_name, {"f": f"libm_{_name}_{{t}}({{0}})"})
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    SCALAR_KERNELS.register(f"arc{_name}", {"f": f"libm_a{_name}_{{t}}({{0}})"})
for _name, _function in {
    "arctan2": "atan2",
    **{_same: _same for _same in ("pow", "hypot", "nextafter", "fmod")},
}.items():
    SCALAR_KERNELS.register(_name, {"f": f"libm_{_function}_{{t}}({{0}}, {{1}})"})
