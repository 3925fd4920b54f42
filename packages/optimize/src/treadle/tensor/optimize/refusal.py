"""What backends that run no Python say of searches that only SciPy has; other searches are decomposed into loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from treadle.graph import Unsupported
from treadle.tensor.optimize.optimize import Optimum

if TYPE_CHECKING:
    from treadle.graph import Apply, LoweringTable


def register(table: LoweringTable) -> None:
    """Register the refusal in a backend's table."""
    table.register(Optimum)(_refuse)


def _refuse(op: Optimum, _: Apply) -> NoReturn:
    raise Unsupported(*op.refusal())
