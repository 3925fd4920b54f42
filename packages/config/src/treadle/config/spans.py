"""What a compilation is doing and how long each part takes: reported by the code that does it, kept on request."""

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from threading import get_ident
from time import perf_counter_ns
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Span(NamedTuple):
    """One span of a compilation, from begin to end.

    Attributes
    ----------
    path
        Names of the spans that were open, the outermost first, and its own.
    start, end
        In nanoseconds of `time.perf_counter_ns`.
    thread
        Identifier of the thread that it ran in.
    """

    path: tuple[str, ...]
    start: int
    end: int
    thread: int

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end - self.start) * 1e-9


class Spans:
    """The spans of one compilation, and how often things happened in it.

    Attributes
    ----------
    ended
        The spans that have ended, in the order in which they did.
    counts
        How often something was tallied, by name.
    steps
        Of the first work whose steps are counted, how many are done, and how many there are; None before it begins.
    check
        Called where a span or a counted step begins, and by `checkpoint`: what it raises ends the work. Whoever
        collects inside of a block that collects takes over its check, as long as that block runs. None for nothing.
    """

    __slots__ = ("_open", "check", "counts", "ended", "steps")

    def __init__(self, check: Callable[[], object] | None = None) -> None:
        self.check = check
        self.ended: list[Span] = []
        self.counts: dict[str, int] = {}
        self.steps: tuple[int, int] | None = None
        self._open: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the spans that are open now, the outermost first; any thread may ask."""
        return self._open

    def seconds(self, name: str) -> float:
        """Return the time of all spans of a name; one inside another of its name counts once."""
        return sum(ended.seconds for ended in self.ended if ended.path[-1] == name and name not in ended.path[:-1])


_CURRENT: ContextVar[Spans | None] = ContextVar("treadle spans", default=None)


class _Nothing:
    """What `span` returns where nobody collects spans."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


class _Timed(_Nothing):
    __slots__ = ("_name", "_outer", "_spans", "_start")

    def __init__(self, spans: Spans, name: str) -> None:
        self._spans = spans
        self._name = name
        self._outer: tuple[str, ...] = ()
        self._start = 0

    def __enter__(self) -> None:
        spans = self._spans
        if spans.check is not None:
            spans.check()
        self._outer = spans._open
        spans._open = (*self._outer, self._name)
        self._start = perf_counter_ns()

    def __exit__(self, *error: object) -> None:
        end = perf_counter_ns()
        spans = self._spans
        spans.ended.append(Span((*self._outer, self._name), self._start, end, get_ident()))
        spans._open = self._outer


class _Collecting(_Nothing):
    __slots__ = ("_own_check", "_spans", "_token")

    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    def __enter__(self) -> None:
        outer, self._own_check = _CURRENT.get(), self._spans.check
        if outer is not None and self._own_check is None:
            self._spans.check = outer.check
        self._token = _CURRENT.set(self._spans)

    def __exit__(self, *error: object) -> None:
        _CURRENT.reset(self._token)
        self._spans.check = self._own_check


_NOTHING = _Nothing()


def collecting(spans: Spans) -> _Nothing:
    """Return a context in which this thread or task reports its spans to `spans`, and to nobody else."""
    return _Collecting(spans)


def span(name: str) -> _Nothing:
    """Return a context that is a span of this name; it costs next to nothing where nobody collects.

    Without a name, nothing is recorded.

    >>> spans = Spans()
    >>> with collecting(spans), span("linking"), span("compiler"):
    ...     spans.path
    ('linking', 'compiler')
    >>> [one.path[-1] for one in spans.ended]
    ['compiler', 'linking']
    """
    spans = _CURRENT.get()
    return _NOTHING if spans is None or not name else _Timed(spans, name)


def checkpoint() -> bool:
    """Call the check of whoever collects here (`Spans.check`), and return whether there is one.

    Work that waits long for something else, such as a compiler, calls it now and then.
    """
    spans = _CURRENT.get()
    if spans is None or spans.check is None:
        return False
    spans.check()
    return True


def tally(name: str, times: int = 1) -> None:
    """Count something that happened, where somebody collects."""
    spans = _CURRENT.get()
    if spans is not None:
        spans.counts[name] = spans.counts.get(name, 0) + times


def counted(steps: Sequence[T]) -> Iterable[T]:
    """Return steps to be done one by one; whoever collects sees how many are done (`Spans.steps`).

    Steps inside of steps that are counted are not.

    >>> spans = Spans()
    >>> with collecting(spans):
    ...     [(step, spans.steps) for step in counted("ab")]
    [('a', (0, 2)), ('b', (1, 2))]
    >>> spans.steps
    (2, 2)
    """
    spans = _CURRENT.get()
    return steps if spans is None or spans.steps is not None else _counted(spans, steps)


def _counted(spans: Spans, steps: Sequence[T]) -> Iterable[T]:
    for done, step in enumerate(steps):
        if spans.check is not None:
            spans.check()
        spans.steps = done, len(steps)
        yield step
    spans.steps = len(steps), len(steps)
