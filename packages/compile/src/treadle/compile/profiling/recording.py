"""Counting and timing while functions run: exact under threads, and absent without a profile."""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from treadle.config import Span, Spans, collecting, new_lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, Compute, FunctionGraph, Value
    from treadle.link.vm import Program
    from treadle.rewrite import Report

Shape: TypeAlias = tuple[int, ...]
# How many of the latest events a function keeps for its trace.
MOST_EVENTS = 100_000


class Event(NamedTuple):
    """One timed run, for the trace."""

    start: int  # in nanoseconds of `time.perf_counter_ns`, as `end`
    end: int
    thread: int
    node: Apply | None  # None for a call of the function
    shapes: tuple[Shape | None, ...]  # of the node's outputs, where they have any


class Timer:
    """How often something ran, and for how long.

    `own` is in nanoseconds, without what other timers of the same thread measured inside; `whole` is with it.
    """

    __slots__ = ("_lock", "count", "own", "whole")

    def __init__(self) -> None:
        self._lock = new_lock()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        with self._lock:
            self.count = 0
            self.own = 0
            self.whole = 0

    def add(self, own: int, whole: int) -> None:
        """Add one run."""
        with self._lock:
            self.count += 1
            self.own += own
            self.whole += whole

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_timer, (self.count, self.own, self.whole)


def _restored_timer(count: int, own: int, whole: int) -> Timer:
    timer = Timer()
    timer.count, timer.own, timer.whole = count, own, whole
    return timer


class NodeRecord:
    """The runs of one node; what its outputs were like in the latest of them."""

    __slots__ = ("backend", "shapes", "sizes", "strides", "timer")

    def __init__(self, backend: str) -> None:
        self.timer = Timer()
        self.backend = backend  # what computes it: a backend's name, or ``py`` for a Python step
        self.sizes: tuple[int, ...] = ()  # in bytes, if memory is measured
        self.shapes: tuple[Shape | None, ...] = ()  # None for values that have none
        self.strides: tuple[Shape | None, ...] = ()

    def reset(self) -> None:
        """Forget everything that was measured."""
        self.timer.reset()
        self.sizes = self.shapes = self.strides = ()


class _State(threading.local):
    """What the timers of one thread need to know of each other."""

    inner: int = 0  # nanoseconds measured by timers inside the one that runs
    muted: bool = False  # whether nothing is recorded: the first call, with option profiling__ignore_first_call


class Calling(threading.local):
    """Whether this thread is in a call of one of a profile's functions."""

    busy: bool = False


class FunctionRecord:
    """The times and sizes that were measured of one function."""

    def __init__(self, title: str, ignore_first_call: bool, calling: Calling) -> None:
        self.title = title
        self._calling = calling
        self.mode = ""
        self.backend = ""
        self.fgraph: FunctionGraph | None = None  # the rewritten graph, once it is linked
        self.segmented = False  # whether nodes run one by one although the backend would make one program of the graph
        self.left_whole = False  # whether nodes are not timed because the mode does something at each of them
        self.with_memory = False  # whether the sizes of values are measured
        self.device_peak: int | None = None  # most bytes of the device in use during a call, where it counts them
        self.nodes: dict[Apply, NodeRecord] = {}  # empty where only whole calls are timed
        self.calls = Timer()
        self.program = Timer()  # the program's part of the calls
        self.whole_program = Timer()  # runs of the backend's program of the whole graph, for comparison
        self.first_call = 0  # in nanoseconds
        self.spans = Spans()  # of the compilation
        self.call_spans: list[Span] = []  # those that fell into calls
        self.compile_start = 0
        self.compile_ns = 0
        self.report: Report | None = None  # which rewrites fired; None if the program is from the compile cache
        self.source_line: object = None  # the user's line that compiled the function
        self.events: deque[Event] = deque(maxlen=MOST_EVENTS)  # the latest ones
        self._ignore_first_call = ignore_first_call
        self._claimed = False
        self._lock = new_lock()
        self._state = _State()

    def reset(self) -> None:
        """Forget what was measured in calls; the times of the compilation stay."""
        for timer in (self.calls, self.program, self.whole_program):
            timer.reset()
        for record in self.nodes.values():
            record.reset()
        self.device_peak = None
        self.events.clear()
        self.call_spans.clear()
        self.first_call = 0

    def _claim_first(self) -> bool:
        """Whether the call that begins now is the first one."""
        if self._claimed:
            return False
        with self._lock:
            first, self._claimed = not self._claimed, True
        return first

    def timed_call(self, call: Compute) -> Compute:
        """Return the callable behind ``Function.__call__``, timed. A call that raises is not counted.

        Neither is one inside another call of the same profile, such as that of the part of a function that computes
        an ``output_subset``.
        """
        state, calling = self._state, self._calling

        def run(*args: Value, **kwargs: object) -> Value:
            if calling.busy:
                return call(*args, **kwargs)
            first = self._claim_first()
            spans = Spans()
            start = perf_counter_ns()
            state.muted = first and self._ignore_first_call
            calling.busy = True
            try:
                with collecting(spans):
                    result = call(*args, **kwargs)
            finally:
                muted, state.muted, calling.busy = state.muted, False, False
            end = perf_counter_ns()
            if first:
                self.first_call = end - start
            if not muted:
                self.calls.add(end - start, end - start)
                self.events.append(Event(start, end, threading.get_ident(), None, ()))
                self.call_spans += spans.ended
            return result

        return run

    def timed_program(self, program: Program, device_memory: Callable[[], Callable[[], int] | None]) -> Compute:
        """Return a program's call, timed until its results are there; runs that raise are not counted.

        `device_memory` begins to count the memory of the device, as `Program.device_memory` does.
        """
        state, waits = self._state, not program.host

        def run(*inputs: Value) -> Value:
            peak = device_memory() if self.with_memory else None
            start = perf_counter_ns()
            results = program(*inputs)
            if waits:
                program.wait(results)
            elapsed = perf_counter_ns() - start
            if not state.muted:
                self.program.add(elapsed, elapsed)
                if peak is not None:
                    self.device_peak = max(self.device_peak or 0, peak())
            return results

        return run

    def timed_node(self, node: Apply, compute: Compute, backend: str) -> Compute:
        """Return the function of a node's values, timed. What nodes inside of it take does not count as its own."""
        record = self.nodes[node] = NodeRecord(backend)
        add, state, log = record.timer.add, self._state, self.events
        types = tuple(out.type for out in node.outputs) if self.with_memory else ()
        single = len(node.outputs) == 1
        ident = threading.get_ident

        def run(*values: Value) -> Value:
            outside = state.inner
            state.inner = 0
            start = perf_counter_ns()
            try:
                result = compute(*values)
            finally:
                end = perf_counter_ns()
                inside = state.inner
                state.inner = outside + end - start
            if not state.muted:
                outputs = (result,) if single else result
                shapes = tuple([getattr(x, "shape", None) for x in outputs])
                add(end - start - inside, end - start)
                log.append(Event(start, end, ident(), node, shapes))
                record.shapes = shapes
                if types:
                    record.sizes = tuple([t.nbytes(x) for t, x in zip(types, outputs, strict=True)])
                    record.strides = tuple([getattr(x, "strides", None) for x in outputs])
            return result

        return run

    def __getstate__(self) -> dict[str, Any]:
        """Pickle all but locks and events, which mean something in their own process only."""
        left_out = {"_calling", "_lock", "_state", "events", "spans"}
        state = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return {**state, "span_records": (list(self.spans.ended), dict(self.spans.counts))}

    def __setstate__(self, state: dict[str, Value]) -> None:
        spans, counts = state.pop("span_records")
        self.__dict__.update(state)
        self.spans = Spans()
        self.spans.ended, self.spans.counts = spans, counts
        self.events = deque(maxlen=MOST_EVENTS)
        self._lock = new_lock()
        self._state = _State()
        self._calling = Calling()
