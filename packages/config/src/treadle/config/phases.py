"""What a compilation is doing, and how long each part takes: told by those who do it, kept where somebody asks."""

from contextvars import ContextVar
from threading import get_ident
from time import perf_counter_ns
from types import TracebackType
from typing import NamedTuple


class Span(NamedTuple):
    """One phase, from begin to end.

    Attributes
    ----------
    path
        Names of the phases that were open, the outermost first, and its own.
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


class Phases:
    """The phases of one compilation, and how often things happened in it.

    Attributes
    ----------
    spans
        The phases that have ended, in the order in which they did.
    counts
        How often something was tallied, by name.
    """

    __slots__ = ("_open", "counts", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.counts: dict[str, int] = {}
        self._open: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the phases that are open now, the outermost first; any thread may ask."""
        return self._open

    def seconds(self, name: str) -> float:
        """Return the time of all phases of a name; one inside another of its name counts once."""
        return sum(span.seconds for span in self.spans if span.path[-1] == name and name not in span.path[:-1])


_CURRENT: ContextVar[Phases | None] = ContextVar("treadle phases", default=None)


class _Nothing:
    """What `phase` returns where nobody asked."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class _Phase(_Nothing):
    __slots__ = ("_name", "_outer", "_phases", "_start")

    def __init__(self, phases: Phases, name: str) -> None:
        self._phases = phases
        self._name = name
        self._outer: tuple[str, ...] = ()
        self._start = 0

    def __enter__(self) -> None:
        phases = self._phases
        self._outer = phases._open
        phases._open = (*self._outer, self._name)
        self._start = perf_counter_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end = perf_counter_ns()
        phases = self._phases
        phases.spans.append(Span((*self._outer, self._name), self._start, end, get_ident()))
        phases._open = self._outer


class _Collecting(_Nothing):
    __slots__ = ("_phases", "_token")

    def __init__(self, phases: Phases) -> None:
        self._phases = phases

    def __enter__(self) -> None:
        self._token = _CURRENT.set(self._phases)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT.reset(self._token)


_NOTHING = _Nothing()


def collecting(phases: Phases) -> _Nothing:
    """Return a context in which this thread or task tells its phases to `phases`, and to nobody else."""
    return _Collecting(phases)


def phase(name: str) -> _Nothing:
    """Return a context that is a phase of this name; it costs next to nothing where nobody collects.

    A phase without a name is none.

    >>> phases = Phases()
    >>> with collecting(phases), phase("linking"), phase("compiler"):
    ...     phases.path
    ('linking', 'compiler')
    >>> [span.path[-1] for span in phases.spans]
    ['compiler', 'linking']
    """
    phases = _CURRENT.get()
    return _NOTHING if phases is None or not name else _Phase(phases, name)


def tally(name: str, times: int = 1) -> None:
    """Count something that happened, where somebody collects."""
    phases = _CURRENT.get()
    if phases is not None:
        phases.counts[name] = phases.counts.get(name, 0) + times
