"""Expressions of scalar ops that C and Numba have alike: ``{0}`` and ``{1}`` are the operands."""

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
