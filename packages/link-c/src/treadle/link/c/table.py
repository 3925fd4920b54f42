"""The lowering table of the C backend."""

from __future__ import annotations

from treadle.graph import LoweringTable
from treadle.kernels import TABLE as KERNELS
from treadle.kernels import at_site


def _load() -> None:
    from treadle.tensor import load_families

    load_families("treadle.link.c.lower")


TABLE = LoweringTable("c", _load, beside=(KERNELS, at_site))
