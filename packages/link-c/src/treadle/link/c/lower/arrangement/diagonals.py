"""ExtractDiag: a view with another address, other lengths and other strides."""

from __future__ import annotations

from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import ExtractDiag, TensorNode


@TABLE.register(ExtractDiag)
def extract_diag(op: ExtractDiag, node: TensorNode, unit: Unit) -> None:
    """Write the view."""
    x, o = unit.slot(node.inputs[0]), unit.views(node.outputs[0], node.inputs[0])
    for at, d in enumerate(op.kept(node.inputs[0].type.ndim)):
        unit.line(f"v[{o}].n[{at}] = v[{x}].n[{d}]; v[{o}].s[{at}] = v[{x}].s[{d}];")
    last = node.outputs[0].type.ndim - 1
    rows, columns = (f"v[{x}].n[{axis}]" for axis in (op.axis1, op.axis2))
    if op.offset > 0:
        columns = f"({columns} - INT64_C({op.offset}))"
    elif op.offset < 0:
        rows = f"({rows} - INT64_C({-op.offset}))"
    shifted = op.axis2 if op.offset > 0 else op.axis1
    unit.line("{")
    unit.line(f"int64_t n = {rows} < {columns} ? {rows} : {columns};")
    unit.line("if (n < 0) n = 0;")
    unit.line(f"v[{o}].p = v[{x}].p + (n ? INT64_C({abs(op.offset)}) * v[{x}].s[{shifted}] : 0);")
    unit.line(f"v[{o}].n[{last}] = n; v[{o}].s[{last}] = n > 1 ? v[{x}].s[{op.axis1}] + v[{x}].s[{op.axis2}] : 0;")
    unit.line("}")
