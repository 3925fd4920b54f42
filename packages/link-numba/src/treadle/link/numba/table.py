"""The table of lowerings."""

from __future__ import annotations

from treadle.graph import LoweringTable
from treadle.kernels import TABLE as KERNELS
from treadle.kernels import at_site


def _load() -> None:
    from treadle.tensor import load_families

    load_families("treadle.link.numba.lower")


# A rule ``rule(op, node, writer)`` writes the statements that compute the node, and binds its outputs.
TABLE = LoweringTable("numba", _load, beside=(KERNELS, at_site))
