"""Types of gradients that are not values: disconnected, and not defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph.errors import GraphTypeError
from treadle.graph.ir.type import Type

if TYPE_CHECKING:
    from treadle.graph.ir.thunk import Value


class DisconnectedType(Type):
    """Type of the gradient of a cost with respect to something it does not depend on.

    Examples
    --------
    >>> DisconnectedType()
    DisconnectedType()
    """

    __props__ = ()

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> Value:
        """Refuse every value: there are none of this type."""
        msg = f"DisconnectedType: a disconnected gradient has no values, got {text_of(data)}. Check the cost's inputs."
        raise GraphTypeError(msg)

    def __str__(self) -> str:
        return "Disconnected"


class NullType(Type):
    """Type of a gradient that is not defined.

    Parameters
    ----------
    why
        Why it is not defined; part of the error a user sees who asks for it.

    Examples
    --------
    >>> NullType("no gradient")
    NullType(why='no gradient')
    """

    __props__ = ("why",)

    def __init__(self, why: str = "(no reason given)") -> None:
        self.why = why

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> Value:
        """Refuse every value: there are none of this type."""
        msg = f"NullType: this gradient is not defined ({self.why}), got {text_of(data)}. Do not use it."
        raise GraphTypeError(msg)

    def __str__(self) -> str:
        return "Null"


null_type = NullType()
disconnected_type = DisconnectedType()
