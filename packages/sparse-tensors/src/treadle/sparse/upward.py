"""What modules of this package ask of modules above them, which they must not import."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Upward:
    """Functions of modules above, each with the reason why it is asked for from below."""

    @staticmethod
    def function(name: str) -> Callable[..., Any]:
        """Return the public function of a name: variables have operators and methods for many of them."""
        found: Callable[..., Any] = getattr(sys.modules["treadle.sparse"], name)
        return found


upward = Upward()


class FromAbove:
    """An attribute of a class that a module above gives: it is asked for when it is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return what the package has under the name."""
        return upward.function(self._name)
