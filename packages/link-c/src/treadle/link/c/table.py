"""The lowering table of the C backend."""

from __future__ import annotations

from treadle.graph import LoweringTable


def _load() -> None:
    from treadle.tensor import load_families

    load_families("treadle.link.c.lower")


TABLE = LoweringTable("c", _load)
