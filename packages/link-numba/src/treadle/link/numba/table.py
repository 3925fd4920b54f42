"""The table of lowerings."""

from __future__ import annotations

from treadle.graph import LoweringTable


def _load() -> None:
    from treadle.tensor import load_families

    load_families("treadle.link.numba.lower")


# A rule ``rule(op, node, writer)`` writes the statements that compute the node, and binds its outputs.
TABLE = LoweringTable("numba", _load)
