"""Counting and timing while functions run: exact under threads, and nothing of it exists without a profile."""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from treadle.config import Span, Spans, collecting, new_lock

if TYPE_CHECKING:
    from treadle.graph import Apply, Compute, FunctionGraph, Value
    from treadle.link.vm import Program
    from treadle.rewrite import Report

Shape: TypeAlias = tuple[int, ...]
# How many of the latest events a function keeps for its trace.
MOST_EVENTS = 100_000


class Event(NamedTuple):
    """One timed run, for the trace.

    Attributes
    ----------
    start, end
        In nanoseconds of `time.perf_counter_ns`.
    thread
        Identifier of the thread.
    node
        The node that ran; None for a call of the function.
    shapes
        Shapes of the node's outputs, where they have any.
    """

    start: int
    end: int
    thread: int
    node: Apply | None
    shapes: tuple[Shape | None, ...]


class Timer:
    """How often something ran, and for how long.

    Attributes
    ----------
    count
        How often.
    own
        Nanoseconds, without what other timers of the same thread measured inside.
    whole
        Nanoseconds, with it.
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
        """Pickle the numbers."""
        return _restored_timer, (self.count, self.own, self.whole)


def _restored_timer(count: int, own: int, whole: int) -> Timer:
    timer = Timer()
    timer.count, timer.own, timer.whole = count, own, whole
    return timer


class NodeRecord:
    """What is known of one node.

    Attributes
    ----------
    timer
        Its runs.
    backend
        What computes it: a backend's name, or ``py`` for a Python step.
    sizes
        Bytes of its outputs in the latest run, if memory is measured.
    shapes, strides
        Shapes and strides of its outputs in the latest run, None for values that have none.
    """

    __slots__ = ("backend", "shapes", "sizes", "strides", "timer")

    def __init__(self, backend: str) -> None:
        self.timer = Timer()
        self.backend = backend
        self.sizes: tuple[int, ...] = ()
        self.shapes: tuple[Shape | None, ...] = ()
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
    """What is known of one function.

    Attributes
    ----------
    title
        Its name, or another word for it.
    mode, backend
        Names of both.
    fgraph
        The rewritten graph, None before it is linked.
    segmented
        Whether nodes run one by one although the backend would make one program of the graph.
    left_whole
        Whether nodes are not timed because the mode does something at each of them.
    with_memory
        Whether the sizes of values are measured.
    nodes
        What is known of the nodes, empty where only whole calls are timed.
    calls
        Whole calls of the function.
    program
        Of these, the program's part.
    whole_program
        Runs of the backend's program of the whole graph, for comparison.
    first_call
        Nanoseconds of the first call, 0 before.
    spans, call_spans
        Spans of the compilation, and those that fell into calls.
    compile_ns
        Nanoseconds of the compilation.
    report
        Which rewrites fired; None if the program came out of the compile cache.
    source_line
        The user's line that compiled the function.
    events
        The latest events.
    """

    def __init__(self, title: str, ignore_first_call: bool, calling: Calling) -> None:
        self.title = title
        self._calling = calling
        self.mode = ""
        self.backend = ""
        self.fgraph: FunctionGraph | None = None
        self.segmented = False
        self.left_whole = False
        self.with_memory = False
        self.nodes: dict[Apply, NodeRecord] = {}
        self.calls = Timer()
        self.program = Timer()
        self.whole_program = Timer()
        self.first_call = 0
        self.spans = Spans()
        self.call_spans: list[Span] = []
        self.compile_start = 0
        self.compile_ns = 0
        self.report: Report | None = None
        self.source_line: object = None
        self.events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self._ignore_first_call = ignore_first_call
        self._claimed = False
        self._lock = new_lock()
        self._state = _State()

    def reset(self) -> None:
        """Forget everything that calls have left; the times of the compilation stay."""
        for timer in (self.calls, self.program, self.whole_program):
            timer.reset()
        for record in self.nodes.values():
            record.reset()
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

    def timed_program(self, program: Program) -> Compute:
        """Return a program's call, timed until its results are there; runs that raise are not counted."""
        state, waits = self._state, not program.host

        def run(*inputs: Value) -> Value:
            start = perf_counter_ns()
            results = program(*inputs)
            if waits:
                program.wait(results)
            took = perf_counter_ns() - start
            if not state.muted:
                self.program.add(took, took)
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
                made = (result,) if single else result
                shapes = tuple([getattr(x, "shape", None) for x in made])
                add(end - start - inside, end - start)
                log.append(Event(start, end, ident(), node, shapes))
                record.shapes = shapes
                if types:
                    record.sizes = tuple([t.nbytes(x) for t, x in zip(types, made, strict=True)])
                    record.strides = tuple([getattr(x, "strides", None) for x in made])
            return result

        return run

    def __getstate__(self) -> dict[str, Any]:
        """Pickle all but the locks; events have a meaning in their own process only."""
        left_out = {"_calling", "_lock", "_state", "events", "spans"}
        kept = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return {**kept, "span_records": (list(self.spans.ended), dict(self.spans.counts))}

    def __setstate__(self, kept: dict[str, Value]) -> None:
        """Restore what was pickled, with new locks."""
        spans, counts = kept.pop("span_records")
        self.__dict__.update(kept)
        self.spans = Spans()
        self.spans.ended, self.spans.counts = spans, counts
        self.events = deque(maxlen=MOST_EVENTS)
        self._lock = new_lock()
        self._state = _State()
        self._calling = Calling()
