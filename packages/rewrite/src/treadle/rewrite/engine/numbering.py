"""OpNumbers: a small number for each op of a run, the same for equal ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.graph import Op


class OpNumbers:
    """Numbers of ops, found by identity first: hashing an op anew for each key would cost more than the look-up."""

    __slots__ = ("_by_identity", "_by_value", "_ops")

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._by_value: dict[Op, int] = {}
        # An identity may be used again once its op is gone, so ops are kept as long as their numbers.
        self._ops: list[Op] = []

    def of(self, op: Op) -> int:
        """Return the number of an op."""
        number = self._by_identity.get(id(op))
        if number is None:
            number = self._by_identity[id(op)] = self._by_value.setdefault(op, len(self._by_value))
            self._ops.append(op)
        return number
