"""RNGConsumerOp: the base of ops that draw."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from treadle.graph import Op

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import Apply, Variable

__all__ = ["RNGConsumerOp"]


class RNGConsumerOp(Op):
    """Base of ops that draw random numbers."""

    @abstractmethod
    def update(self, node: Apply) -> Mapping[Variable, Variable]:
        """Return, for each generator that a node takes, the generator after its draws."""
