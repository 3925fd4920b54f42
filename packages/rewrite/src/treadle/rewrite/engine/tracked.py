"""Ops, classes of ops, and classes that stand for some ops of a class, as rewriters track them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Op
from treadle.rewrite.errors import RewriterTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeGuard

# An op, a class of ops, or a class that stands for some of them: ``isinstance`` tells which ops of its `of` these are.
Tracked = Op | type[Op]


def is_tracked(item: object) -> TypeGuard[Tracked]:
    """Whether something is an op or a class of ops, or stands for some ops of a class."""
    return isinstance(item, Op) or (isinstance(item, type) and issubclass(class_of(item), Op))


def class_of(kind: type) -> type:
    """Return a class of ops itself; for a class that stands for some ops, the class of these."""
    represented = getattr(kind, "of", None)
    return kind if issubclass(kind, Op) or not isinstance(represented, type) else represented


def check_tracked(subject: str, tracked: Iterable[object]) -> None:
    """Refuse what is neither an op nor a class of ops."""
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
