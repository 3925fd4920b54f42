"""Taking one of two values without a jump."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature


def picked(_: BaseContext, builder: ir.IRBuilder, __: Signature, values: Sequence[ir.Value]) -> ir.Value:
    """Select one of two values, without a jump: LLVM makes one of a selection that it thinks can be foreseen."""
    chosen = builder.select(*values)
    if isinstance(chosen, ir.Instruction):
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
    return chosen
