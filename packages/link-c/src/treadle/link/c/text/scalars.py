"""The table of C texts of scalar ops."""

from __future__ import annotations

import re

from treadle.kernels import Kernel
from treadle.link.c.runtime.kernels import KERNELS
from treadle.tensor import SCALAR_KERNELS, ScalarTable, Step

# C expressions: {0} {1} {2} are the operands, {s} is the suffix of C's math functions (f for float32), {t} the short
# name of the dtype computed with (f64, i8 …). The kind is that of the first operand's dtype.
# Kernels stand for calls of their functions.
SCALARS: ScalarTable[str | Kernel] = ScalarTable("c", "treadle.link.c.lower.elementwise.scalar", beside=SCALAR_KERNELS)

# What texts that Numba has alike say, and C's words for it.
_ALIKE = (
    (re.compile(r"\blibm_(\w+)_\{t\}"), r"\1{s}"),
    (re.compile(r"\blibmc_(\w+)_\{t\}"), r"__builtin_c\1{s}"),
    (re.compile(r"\bint_(\w+_\{t\})"), r"tr_\1"),
    (re.compile(r"\b(ceil|copysign|fabs|floor|rint|sqrt|trunc)\("), r"\1{s}("),
    (re.compile(r"\bpick\(([^,]+), ([^,]+), ([^,)]+)\)"), r"\1 ? \2 : \3"),
)


def in_c(text: str) -> str:
    """Return a text of the table with C's names of functions that texts which Numba has alike name for both."""
    for pattern, ours in _ALIKE:
        text = pattern.sub(ours, text)
    return text


def step_text(step: Step, kind: str) -> str:
    """Return the C expression of a step, empty if there is none."""
    entry = SCALARS.find(step.scalar_op, kind) or ""
    if isinstance(entry, str):
        return in_c(entry)
    operands = ", ".join(f"{{{i}}}" for i in range(len(step.loops)))
    return f"{KERNELS.add(entry.of_numbers(step.loops))}({operands})"
