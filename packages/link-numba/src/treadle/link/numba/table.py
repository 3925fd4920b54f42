"""The table of lowerings."""

from __future__ import annotations

from treadle.graph import LoweringTable

TABLE = LoweringTable("numba")
"""Rules ``rule(op, node, writer)``: write the statements that compute the node and bind its outputs' values."""
