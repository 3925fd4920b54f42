"""Ops and classes of ops, as rewriters track them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Op
from treadle.rewrite.errors import RewriterTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeGuard

# An op, or a class of ops.
Tracked = Op | type[Op]


def is_tracked(given: object) -> TypeGuard[Tracked]:
    """Whether something is an op or a class of ops."""
    return isinstance(given, Op) or (isinstance(given, type) and issubclass(given, Op))


def check_tracked(subject: str, tracked: Iterable[object]) -> None:
    """Refuse what is no op and no class of ops."""
    for item in tracked:
        if not is_tracked(item):
            msg = f"{subject}: tracks ops or classes of ops, got {item!r}. Name the op itself."
            raise RewriterTypeError(msg)


def is_among(op: Op, tracked: Iterable[Tracked]) -> bool:
    """Whether an op is one of several, or of one of their classes."""
    return any(isinstance(op, item) if isinstance(item, type) else op == item for item in tracked)


def name_of(tracked: Tracked) -> str:
    """Return the name of an op or of a class of ops."""
    return tracked.__name__ if isinstance(tracked, type) else str(tracked)
