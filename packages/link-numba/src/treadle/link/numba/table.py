"""The table of lowerings."""

from __future__ import annotations

from importlib import import_module

from treadle.graph import LoweringTable


class RuleTable(LoweringTable):
    """Rules ``rule(op, node, writer)``: write the statements that compute the node and bind its outputs' values."""

    __slots__ = ()

    def load(self) -> None:
        """Import treadle's own rules, then let installed packages register theirs."""
        import_module("treadle.link.numba.lower")
        super().load()


TABLE = RuleTable("numba")
