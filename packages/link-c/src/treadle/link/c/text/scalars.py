"""The table of C texts of scalar ops."""

from __future__ import annotations

from treadle.tensor import ScalarTable

# C expressions: {0} {1} {2} are the operands, {s} is the suffix of C's math functions (f for float32), {t} the short
# name of the dtype computed with (f64, i8 …). The kind is that of the first operand's dtype.
SCALARS: ScalarTable[str] = ScalarTable("c", "treadle.link.c.lower.elementwise.scalar")
