"""Ops that change a part of their first input, and can do so in place and undo it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.ir.thunk import Value


class ChangesPart(ABC):
    """Mixin of ops whose one output is the first input with a part changed, which the other inputs name.

    Where a call may change the first input's value itself, it costs what is changed instead of a copy of all. The
    values of the inputs are those that `Op.perform` takes.

    Examples
    --------
    >>> v = tt.dvector("v")
    >>> isinstance(v[0].set(1.0).owner.op, ChangesPart), isinstance(tt.exp(v).owner.op, ChangesPart)
    (True, False)
    """

    @abstractmethod
    def keep_part(self, inputs: Sequence[Value]) -> Value:
        """Return a copy of the part that will be changed."""

    @abstractmethod
    def change_part(self, inputs: Sequence[Value], kept: Value) -> None:
        """Change the value of the first input; `kept` is what `keep_part` returned for the inputs."""

    @abstractmethod
    def restore_part(self, inputs: Sequence[Value], kept: Value) -> None:
        """Write the kept part back into the first input."""
