"""Where in the user's program a node was made, and in which name scope."""

from __future__ import annotations

import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from treadle.config import config, is_foreign_file, lazy_module, run_inside
from treadle.graph.errors import GraphTypeError, GraphValueError

if TYPE_CHECKING:
    import linecache
    from collections.abc import Callable
    from types import FrameType, TracebackType
else:
    linecache = lazy_module("linecache")


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
    >>> from treadle.graph.diagnostics.provenance import current_scope, name_scope
    >>> with name_scope("model"), name_scope("encoder"):
    ...     current_scope()
    'model/encoder'
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        unchecked: object = name
        if not isinstance(unchecked, str):
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


class UserLine:
    """One line of the user's program.

    Attributes
    ----------
    file
        Path of the file, or a name such as ``<stdin>``.
    line
        Line number, from 1; 0 where no line is known but the name scope.
    scope
        Path of the name scopes that were open (see `treadle.graph.name_scope`), empty if none was.
    outer
        The user's line that called the function of this one, where it was kept (option ``traceback__limit``).
    inner
        treadle's own frames between this line and the node, innermost first; kept only where the option
        ``traceback__compile_limit`` asks for them.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> type((x + y).user_line).__name__
    'UserLine'
    """

    __slots__ = ("file", "inner", "line", "outer", "scope")

    def __init__(
        self,
        file: str,
        line: int,
        scope: str = "",
        outer: UserLine | None = None,
        inner: tuple[UserLine, ...] = (),
    ) -> None:
        self.file = file
        self.line = line
        self.scope = scope
        self.outer = outer
        self.inner = inner

    @property
    def trace(self) -> list[UserLine]:
        """The line itself, the user's lines that called it, innermost first, and then the kept frames of treadle."""
        lines: list[UserLine] = []
        line: UserLine | None = self
        while line is not None:
            lines.append(line)
            line = line.outer
        return [*lines, *self.inner]

    @property
    def text(self) -> str:
        """Source text of the line, stripped; empty where the source cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UserLine)
            and self.file == other.file
            and self.line == other.line
            and self.scope == other.scope
        )

    def __hash__(self) -> int:
        return hash((self.file, self.line, self.scope))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as file, line and scope, with the kept frames in one flat list."""
        if self.outer is None and not self.inner:
            return UserLine, (self.file, self.line, self.scope)
        count = len(self.trace) - len(self.inner)
        return _restored, ([(x.file, x.line, x.scope) for x in self.trace], count)

    def __str__(self) -> str:
        """Show as ``model.py:41 "z = solve(L, y)"``, with the name scope where there is one."""
        name = self.file.replace("\\", "/").rpartition("/")[2]
        place = f"{name}:{self.line}" if self.line else self.file
        text = self.text
        quoted = f'{place} "{text}"' if text else place
        return f"{quoted} in {self.scope}" if self.scope else quoted

    def __repr__(self) -> str:
        return f"UserLine({self.file!r}, {self.line}{f', {self.scope!r}' if self.scope else ''})"


def _restored(frames: list[tuple[str, int, str]], count: int) -> UserLine:
    """Return the line of which `frames` are the kept frames, the first `count` of them the user's."""
    inner = tuple(UserLine(*frame) for frame in frames[count:])
    outer: UserLine | None = None
    for frame in reversed(frames[1:count]):
        outer = UserLine(*frame, outer)
    return UserLine(*frames[0], outer, inner)


# A line by its number; where there is a name scope or a caller, by number, scope, and identity of the caller's line.
LineKey = int | tuple[int, str, int]


class FrameFilter:
    """Tell the user's files from treadle's own and from installed packages; each file is judged once.

    Lines of the user's files are kept, so that the many nodes that one line makes share one object.
    """

    __slots__ = ("files",)

    def __init__(self) -> None:
        # Lines by number (and scope) for each of the user's files; None for a file that is not the user's.
        self.files: dict[str, dict[LineKey, UserLine] | None] = {}

    def judge(self, file: str) -> dict[LineKey, UserLine] | None:
        """Return the lines known of a file met for the first time, or None if it is not the user's."""
        return self.files.setdefault(file, None if _is_foreign(file) else {})


def _is_foreign(file: str) -> bool:
    if file.startswith("<"):  # a notebook's cell, a command line, or what has no source
        return file.startswith(("<frozen", "<treadle"))
    return is_foreign_file(file)


_FRAMES = FrameFilter()


def is_user_file(file: str) -> bool:
    """Whether a source file is the user's: neither treadle's, nor Python's, nor an installed package's."""
    return _FRAMES.judge(file) is not None


class OriginOfNodes(threading.local):
    """The line that what a thread builds comes from, where that is known: no frame is looked at then."""

    line: UserLine | None = None


ORIGIN = OriginOfNodes()


def user_line(depth: int = 1) -> UserLine | None:
    """Return the innermost frame outside treadle and installed packages, or None where there is none.

    It knows the user's lines that led to it, as many as the option ``traceback__limit`` says.

    Parameters
    ----------
    depth
        Number of frames to leave out, counted from the caller.

    Examples
    --------
    >>> def where_called():
    ...     return user_line(2)
    >>> type(where_called()).__name__
    'UserLine'
    """
    origin = ORIGIN.line
    if origin is not None:
        return origin
    start = frame = sys._getframe(depth)
    files = _FRAMES.files
    limit: int = config.traceback__limit
    while True:
        file = frame.f_code.co_filename
        try:
            lines = files[file]
        except KeyError:
            lines = _FRAMES.judge(file)
        back = frame.f_back
        if lines is not None:
            outer = None if back is None or limit in {0, 1} else _callers(back, limit)
            scope = SCOPE.get()
            number = frame.f_lineno
            path = "" if scope is None else scope.path
            key = number if outer is None and not path else (number, path, id(outer))
            line = lines.get(key)
            if line is None:
                # setdefault: another thread may be making the same one. The table keeps `outer` alive, so that its
                # id is not reused.
                line = lines.setdefault(key, UserLine(file, number, path, outer))
            internal: int = config.traceback__compile_limit
            if internal and frame is not start:
                line = UserLine(file, number, path, outer, _internal_frames(start, frame, internal))
            return line
        if back is None:
            scope = SCOPE.get()
            return None if scope is None else UserLine("<unknown line>", 0, scope.path)
        frame = back


# Callers far out are seldom the user's, but the user pays for every frame that is looked at, for every node.
_FRAMES_PER_CALLER = 2


def _callers(frame: FrameType, limit: int) -> UserLine | None:
    """Return the user's line nearest to a frame, with those that called it, `limit` - 1 in all; all if -1."""
    files = _FRAMES.files
    frames: list[tuple[dict[LineKey, UserLine], str, int]] = []
    budget = _FRAMES_PER_CALLER * limit
    current: FrameType | None = frame
    while current is not None and budget:
        file = current.f_code.co_filename
        try:
            lines = files[file]
        except KeyError:
            lines = _FRAMES.judge(file)
        if lines is not None:
            frames.append((lines, file, current.f_lineno))
            if len(frames) == limit - 1:
                break
        budget -= 1
        current = current.f_back
    line: UserLine | None = None
    for lines, file, number in reversed(frames):
        key = number if line is None else (number, "", id(line))
        kept_line = lines.get(key)
        line = lines.setdefault(key, UserLine(file, number, "", line)) if kept_line is None else kept_line
    return line


def _internal_frames(start: FrameType, end: FrameType, limit: int) -> tuple[UserLine, ...]:
    """Return the frames from `start` up to, not including, `end`: `limit` of them, or all if -1."""
    frames: list[UserLine] = []
    frame: FrameType | None = start
    while frame is not None and frame is not end and len(frames) != limit:
        frames.append(UserLine(frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(frames)


def carried(line: UserLine | None, new_line: UserLine | None) -> UserLine | None:
    """Return the line of a node that a rewrite built at `new_line` to replace one of `line`.

    It is the line of the replaced node, with the frames inside treadle that are kept of the new one.
    """
    if line is None or new_line is None or not new_line.inner:
        return line
    return UserLine(line.file, line.line, line.scope, line.outer, new_line.inner)


def user_trace(limit: int, depth: int = 1) -> list[UserLine]:
    """Return up to `limit` frames, innermost first; all of them where `limit` is -1.

    They are the user's alone, unless the option ``traceback__compile_limit`` asks for treadle's own as well.
    """
    lines: list[UserLine] = []
    frame: FrameType | None = sys._getframe(depth)
    everything = bool(config.traceback__compile_limit)
    while frame is not None and (limit < 0 or len(lines) < limit):
        file = frame.f_code.co_filename
        if everything or _FRAMES.judge(file) is not None:
            lines.append(UserLine(file, frame.f_lineno))
        frame = frame.f_back
    return lines


def add_tag_trace(thing: Any, user_line: int | None = None) -> Any:
    """Set ``tag.trace`` to the user's frames, innermost first, and return the thing.

    Parameters
    ----------
    thing
        A variable or node.
    user_line
        How many frames to keep; option ``traceback__limit`` if None; all if -1.
    """
    limit = config.traceback__limit if user_line is None else user_line
    thing.tag.trace = user_trace(limit, 2)
    return thing


def get_variable_trace_string(v: Any) -> str:
    """Return the user's lines that made a variable, one a line: those in ``tag.trace``, else that of its node.

    Empty where neither is known.
    """
    trace = getattr(v.tag, "trace", None)
    if not trace:
        line = v.user_line
        trace = [] if line is None else line.trace
    return "".join(f"{line}\n" for line in trace)
