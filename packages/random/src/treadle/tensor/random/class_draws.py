"""Methods of draws that a class has as well: there they are those of its op with the parameters it has by default."""

from __future__ import annotations

from functools import lru_cache, update_wrapper
from inspect import getattr_static
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Method = TypeVar("_Method", bound="Callable[..., Any]")


class _OfOpOrClass:
    """A method that is bound to an op, and asked of a class to an op of it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        update_wrapper(self, function)  # type: ignore[arg-type]  # it stands for the function

    def __get__(self, op: object, kind: type) -> Any:
        if op is None and vars(kind).get(self.function.__name__) is self:
            # The class that defines it has no op of its own; its subclasses may call it by its name.
            return self.function
        return MethodType(self.function, kind() if op is None else op)


def of_op_or_class(method: _Method) -> _Method:
    """Let subclasses of a class have one of its methods as well as their ops do."""
    method_of_both: Any = _OfOpOrClass(method)
    return method_of_both  # type: ignore[no-any-return]  # it is called like the method


@lru_cache(maxsize=1024)
def redefines(kind: type, base: type, name: str) -> bool:
    """Whether a class has another method of a name than one of its bases."""
    return getattr_static(kind, name) is not getattr_static(base, name)
