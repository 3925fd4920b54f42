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

_LIBM = re.compile(r"\blibm_(\w+)_\{t\}")


def in_c(text: str) -> str:
    """Return a text of the table with C's names of functions that texts which Numba has alike name for both."""
    return _LIBM.sub(r"\1{s}", text)


def step_text(step: Step, kind: str) -> str:
    """Return the C expression of a step, empty if there is none."""
    entry = SCALARS.find(step.scalar_op, kind) or ""
    if isinstance(entry, str):
        return in_c(entry)
    operands = ", ".join(f"{{{i}}}" for i in range(len(step.loops)))
    return f"{KERNELS.add(entry.of_numbers(step.loops))}({operands})"
