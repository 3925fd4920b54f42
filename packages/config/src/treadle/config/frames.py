"""Scoped changes of options: what one thread or task sees instead of the process-wide values."""

import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

from treadle.config.errors import DecorationError, OptionScopeError
from treadle.config.lazy import lazy_module
from treadle.config.messages.notices import user_place
from treadle.config.snapshot import Snapshot

if TYPE_CHECKING:
    import inspect
else:
    inspect = lazy_module("inspect")

P = ParamSpec("P")
R = TypeVar("R")


class Frame:
    """One open block. `values` holds what this block and all around it set, the innermost winning."""

    __slots__ = ("computed", "evaluating", "label", "own", "owner", "parent", "place", "reads", "snapshot", "values")

    def __init__(
        self,
        own: Mapping[str, object],
        parent: "Frame | None",
        owner: object,
        label: str,
        values: Mapping[str, object],
        *,
        place: tuple[str, int] | None = None,
        evaluating: str = "",
        reads: set[str] | None = None,
    ) -> None:
        self.own = own
        self.parent = parent
        self.owner = owner
        self.label = label
        self.values = values
        self.place = place
        self.evaluating = evaluating
        self.reads = reads
        self.computed: dict[str, tuple[int, object]] = {}
        self.snapshot: tuple[int, Snapshot] | None = None

    def is_evaluating(self, name: str) -> bool:
        """Return whether the default of option `name` is being computed around this point."""
        frame: Frame | None = self
        while frame is not None:
            if frame.evaluating == name:
                return True
            frame = frame.parent
        return False

    def source_of(self, name: str) -> str:
        """Return what the innermost block that sets `name` is, and where it was entered; an empty string if none."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.own:
                return frame.label if frame.place is None else f"{frame.label} at {frame.place[0]}:{frame.place[1]}"
            frame = frame.parent
        return ""


FrameVar = ContextVar[Frame | None]


def push(var: FrameVar, own: Mapping[str, object], owner: object, label: str, place: tuple[str, int] | None) -> None:
    """Open a block in the current thread or task."""
    parent = var.get()
    values = own if parent is None else {**parent.values, **own}
    var.set(Frame(own, parent, owner, label, values, place=place))


def remove(var: FrameVar, owner: object) -> None:
    """Close the innermost block of `owner`, wherever it is: generators may leave out of order."""
    inner: list[Frame] = []
    frame = var.get()
    while frame is not None and frame.owner is not owner:
        inner.append(frame)
        frame = frame.parent
    if frame is None:
        msg = (
            "change_flags: the block ends in another thread or task than it began in. "
            "Open and close it in the same one, for instance with a 'with' statement."
        )
        raise OptionScopeError(msg)
    var.set(frame.parent)
    for other in reversed(inner):
        push(var, other.own, other.owner, other.label, other.place)


class ScopedValues:
    """A block in which options have other values: a context manager and a decorator.

    The block is that of the current thread or task only. A thread started inside it does not see
    it; run the thread's function through ``contextvars.copy_context().run`` to carry it there.
    (Tasks of asyncio copy the context by themselves.) Blocks nest, and one object may be entered
    again, also from several threads.
    """

    __slots__ = ("_label", "_resolve", "_var")

    def __init__(self, var: FrameVar, label: str, resolve: Callable[[], Mapping[str, object]]) -> None:
        self._var = var
        self._label = label
        self._resolve = resolve

    def __enter__(self) -> None:
        push(self._var, self._resolve(), self, self._label, user_place())

    def __exit__(self, *error: object) -> None:
        remove(self._var, self)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return `function`, plain or async, so wrapped that each call runs inside the block; see `run_inside`."""
        return run_inside(self, "config.change_flags(...)", function)


def run_inside(block: AbstractContextManager[object], block_text: str, function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` so wrapped that each call runs inside a block.

    Parameters
    ----------
    block
        A context manager that may be entered again and from several threads.
    block_text
        How the block is written, for the error.
    function
        A plain or async function.

    Raises
    ------
    DecorationError
        For a class or a generator function, whose body runs outside of the call.
    """
    if inspect.isclass(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        msg = (
            f"{block_text.partition('(')[0]}: cannot decorate {function!r}, a class or generator function, whose body "
            f"runs after the call has returned. Use 'with {block_text}:' inside it."
        )
        raise DecorationError(msg)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run_async(*args: P.args, **kwargs: P.kwargs) -> object:
            with block:
                return await function(*args, **kwargs)

        return cast("Callable[P, R]", run_async)

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with block:
            return function(*args, **kwargs)

    return run
