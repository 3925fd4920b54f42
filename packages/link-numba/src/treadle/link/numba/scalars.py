"""The table of Numba texts of scalar ops, and how steps are written with them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treadle.kernels import Kernel, value_code
from treadle.link.numba.dtypes import STORAGES, converted
from treadle.link.numba.text.kernels import unit_of
from treadle.tensor import BLOCK_KERNELS, SCALAR_KERNELS, ScalarOp, ScalarTable, Step

# Python expressions: {0} {1} {2} are the operands, {t} is the code of the dtype computed with (f8), and libm_exp_{t} is
# a function of libm.
# Kernels stand for calls of their functions.
SCALARS: ScalarTable[str | Kernel] = ScalarTable(
    "numba", "treadle.link.numba.lower.elementwise.scalar", beside=SCALAR_KERNELS
)
# These compute with the dtype of their last operand: the first is a condition, or is not used.
_LED_BY_LAST = frozenset({"switch", "second"})
# Functions whose result is one of the operands, up to its sign: it needs no rounding.
_EXACT = frozenset({"identity", "second", "switch", "abs", "neg"})
# What loops have functions of their own for, on vectors.
_DIVISION = re.compile(r"\bint_(floor_div|mod)")


def _lead(scalar_op: ScalarOp, loops: Sequence[str]) -> str:
    return loops[-1] if scalar_op.name in _LED_BY_LAST else loops[0]


def takes(scalar_op: ScalarOp, loops: Sequence[str]) -> bool:
    """Whether there is a text of a scalar op, for operands converted to some dtypes."""
    lead = _lead(scalar_op, loops)
    return lead in STORAGES and SCALARS.find(scalar_op, STORAGES[lead].kind) is not None


def step_text(step: Step, operands: Sequence[tuple[str, str]], *, many: bool = False) -> str:
    """Return the expression of a step; each operand is a variable or a number, with its dtype.

    With `many`, it is a statement's and one of a loop's, which `treadle.link.numba.text.loops.steps` writes.
    """
    scalar_op, loops, out = step.scalar_op, step.loops, step.out
    block = BLOCK_KERNELS.find(scalar_op, "f") if many and loops[0] == out in {"float32", "float64"} else None
    if block is not None:
        unit = unit_of(block.specialised([("int64", 0), (out, -1), (out, -1)], {}))
        return f"in_blocks_{STORAGES[out].code}({unit.name}, {operands[0][0]})"
    args = [converted(text, dtype, loop) for (text, dtype), loop in zip(operands, loops, strict=True)]
    if scalar_op.name.startswith("cast_"):
        return converted(args[0], loops[0], out)
    lead = STORAGES[_lead(scalar_op, loops)]
    entry = SCALARS.find(scalar_op, lead.kind) or ""
    if isinstance(entry, str):
        filled = entry.replace("{t}", lead.code)
        filled = _DIVISION.sub(r"many_\1", filled) if many and lead.code != "u8" else filled
        for i, arg in enumerate(args):
            filled = filled.replace(f"{{{i}}}", arg)
    else:
        filled = _called(entry, args, loops, out)
    if out == "bool":
        return filled
    if out == "float16":
        return filled if scalar_op.name in _EXACT else f"half_f4({filled})"
    return filled if filled in args or lead.kind in "fc" else f"{STORAGES[out].code}({filled})"


def _called(kernel: Kernel, args: Sequence[str], loops: Sequence[str], out: str) -> str:
    """Return the call of a kernel; each argument is of its dtype in `loops`."""
    version = kernel.of_numbers(loops)
    passed = [
        arg if STORAGES[loop].code == code else f"{code}({arg})"
        for arg, loop, code in zip(args, loops, (value_code(p.kind) for p in version.parameters), strict=True)
    ]
    call = f"{unit_of(version).name}({', '.join(passed)})"
    return call if value_code(version.result) == STORAGES[out].code else f"{STORAGES[out].code}({call})"


def can_fail(step: Step) -> bool:
    """Whether a step refuses some values at run time: integers to negative powers."""
    return step.scalar_op.name == "pow" and STORAGES[step.loops[0]].kind == "i"
