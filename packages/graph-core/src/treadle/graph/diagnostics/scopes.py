"""Name scopes: which part of a model a node belongs to."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from treadle.config import run_inside
from treadle.graph.errors import GraphTypeError, GraphValueError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

P = ParamSpec("P")
R = TypeVar("R")


class OpenScope:
    """One open scope: its whole path, the one around it, and who opened it."""

    __slots__ = ("opener", "outer", "path")

    def __init__(self, path: str, outer: OpenScope | None, opener: object) -> None:
        self.path = path
        self.outer = outer
        self.opener = opener


SCOPE: ContextVar[OpenScope | None] = ContextVar("treadle.name_scope", default=None)


def current_scope() -> str:
    """Return the path of the open scopes, such as ``model/encoder``; empty outside of any."""
    scope = SCOPE.get()
    return "" if scope is None else scope.path


class name_scope:  # noqa: N801 - read as a function: ``with name_scope("encoder"):``
    """A block whose nodes belong to a named part of the model: a context manager and a decorator.

    Scopes nest to paths: ``encoder`` inside ``model`` is ``model/encoder``. The path travels with each node
    (`Apply.scope`) through copies, rewrites and pickles; printers and the graph page group by it. Each thread and each
    task of asyncio has its own open scopes.

    Parameters
    ----------
    name
        Name of the part, or a path of several, ``model/encoder``.

    Raises
    ------
    GraphTypeError
        If the name is no string.
    GraphValueError
        If the name, or a part of the path, is empty.

    Examples
    --------
    >>> from treadle.graph.diagnostics.scopes import current_scope, name_scope
    >>> with name_scope("model"), name_scope("encoder"):
    ...     current_scope()
    'model/encoder'
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        given: object = name
        if not isinstance(given, str):
            msg = f"name_scope: the name must be a string, got {name!r}. Pass one such as 'encoder'."
            raise GraphTypeError(msg)
        if not all(part.strip() for part in name.split("/")):
            msg = f"name_scope: the name, or a part of its path, is empty, got {name!r}. Pass one such as 'encoder'."
            raise GraphValueError(msg)
        self.name = name

    def __enter__(self) -> str:
        """Open the scope and return its whole path."""
        outer = SCOPE.get()
        path = self.name if outer is None else f"{outer.path}/{self.name}"
        SCOPE.set(OpenScope(path, outer, self))
        return path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the scope, and any that a generator opened inside of it and has not closed."""
        scope = SCOPE.get()
        while scope is not None and scope.opener is not self:
            scope = scope.outer
        if scope is not None:
            SCOPE.set(scope.outer)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function, plain or async, so wrapped that each call runs inside the scope.

        Raises
        ------
        DecorationError
            For a class or a generator function, whose body runs outside of the call.
        """
        return run_inside(self, f"name_scope({self.name!r})", function)

    def __repr__(self) -> str:
        return f"name_scope({self.name!r})"
