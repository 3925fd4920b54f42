"""RepeatedPositions: the positions that a repetition reads, as ``numpy.repeat`` needs them."""

from __future__ import annotations

from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import RepeatedPositions, TensorNode

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(RepeatedPositions)
def repeated_positions(op: RepeatedPositions, node: TensorNode, unit: Unit) -> None:
    """Write the call that adds up the counts, then writes each position as often as its count says."""
    counts, n = node.inputs
    c, o = unit.slot(counts), unit.owns(node.outputs[0])
    unit.line("{")
    unit.line(f"const int64_t n = {unit.integer(n)}, m = v[{c}].n[0], step = m == 1 ? 0 : v[{c}].s[0];")
    unit.line("int64_t total = 0;")
    unit.call("m == 1 || m == n ? 0 : TR_SHAPE")
    unit.line("for (int64_t i = 0; i < n; i++) {")
    unit.line(f"  const int64_t k = *(const int64_t *)(v[{c}].p + i * step);")
    unit.line("  if (k < 0 || k > INT64_MAX / 8 - total) { total = -1; break; }")
    unit.line("  total += k;")
    unit.line("}")
    unit.call("total < 0 ? TR_LENGTH : 0")
    unit.line(f"v[{o}].n[0] = total;")
    unit.call(f"tr_alloc(v + {o}, 1, 8)")
    unit.line(f"int64_t *at = (int64_t *)v[{o}].p;")
    unit.line("for (int64_t i = 0; i < n; i++)")
    unit.line(f"  for (int64_t k = *(const int64_t *)(v[{c}].p + i * step); k > 0; k--) *at++ = i;")
    unit.line("}")
