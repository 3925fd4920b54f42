"""What backends that need to know lengths before they compile say of patterns found when a program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from treadle.graph import Unsupported
from treadle.sparse.kernels.patterns import CombinedPattern

if TYPE_CHECKING:
    from treadle.graph import Apply, LoweringTable


def register(table: LoweringTable) -> None:
    """Register the refusal in a backend's table."""
    table.register(CombinedPattern)(_refuse)


def _refuse(_: CombinedPattern, __: Apply) -> NoReturn:
    reason = "how many elements a sum or product of sparse matrices stores is known only when it runs"
    raise Unsupported(reason, "make one of the matrices dense with dense_from_sparse")
