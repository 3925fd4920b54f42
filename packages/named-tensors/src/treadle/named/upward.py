"""What modules of this package ask of modules above them, which they must not import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import UpwardCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Variable
    from treadle.named.variables import XTensorConstant, XTensorSharedVariable, XTensorVariable


class Upward(UpwardCalls):
    """Functions and classes of modules above, each with the reason why it is asked for from below."""

    # A type makes variables of classes that have methods for many functions.
    XTensorVariable: type[XTensorVariable]
    XTensorConstant: type[XTensorConstant]
    XTensorSharedVariable: type[XTensorSharedVariable]
    # A plain tensor gets names by an op, which needs the type.
    xtensor_from_tensor: Callable[..., Variable]


upward = Upward()


class FromAbove:
    """An attribute of a class that a module above gives: it is asked for when it is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return what the module above has under the name."""
        return getattr(upward, self._name)
