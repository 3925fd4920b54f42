"""The lowering table of the C backend."""

from __future__ import annotations

from treadle.graph import LoweringTable

TABLE = LoweringTable("c")
