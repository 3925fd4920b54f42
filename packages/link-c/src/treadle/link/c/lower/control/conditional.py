"""Choices between branches."""

from __future__ import annotations

from treadle.graph import IfElse
from treadle.link.c.conventions.dtypes import CTYPES, ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import TensorNode, tensors


@TABLE.register(IfElse)
def ifelse(op: IfElse, node: TensorNode, unit: Unit) -> None:
    """Write a test; each arm calls its branch, then lets the results refer to the branch's values or take them over."""
    kind = node.inputs[0].type.dtype
    test = f"*(const {CTYPES[kind].stored} *)v[{unit.slot(node.inputs[0])}].p"
    wide = kind == "float16"
    arms = [tensors(arm) for arm in op.branches(node)]
    branches: list[list[str]] = [[], []]
    for branch, calls in zip(arms, branches, strict=True):
        for out, x in zip(node.outputs, branch, strict=True):
            source = unit.slot(x)
            # The result takes over a block that nothing else needs, unless two results would get the same one.
            ends = int(branch.count(x) == 1 and unit.dying(x, [v for v in node.inputs if v is not x]))
            size = ctype(x).size
            unit.owns(out)
            o = unit.views(out, x)
            calls.append(f"tr_choose(v + {o}, v + {source}, {x.type.ndim}, {size}, {ends}, tr_move{size})")
    unit.line(f"if ({test + ' & 0x7fff' if wide else test}) {{")
    for at, calls in enumerate(branches):
        if at:
            unit.line("} else {")
        unit.branch(at)
        for text in calls:
            unit.call(text)
    unit.line("}")
