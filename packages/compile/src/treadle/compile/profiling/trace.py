"""Trace files in the Chrome trace format, which Perfetto and speedscope open."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.compile.profiling.recording import Event, FunctionRecord
    from treadle.config import Span

# Times are whole multiples of 1/64 microsecond: sums of such numbers are exact, so that an event inside another stays
# inside it for every reader.
_TICKS = 64


class _Entry(TypedDict, total=False):
    """An entry of a trace, as its format names the parts."""

    name: str
    cat: str
    ph: str
    ts: float
    dur: float
    pid: int
    tid: int
    args: Mapping[str, object]


def _ticks(ns: int) -> int:
    return ns * _TICKS // 1000


def _complete(
    name: str, category: str, start: int, end: int, origin: int, thread: int, args: Mapping[str, object]
) -> _Entry:
    begin, stop = _ticks(start - origin), _ticks(end - origin)
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": begin / _TICKS,
        "dur": (stop - begin) / _TICKS,
        "pid": os.getpid(),
        "tid": thread,
        "args": args,
    }


def _node_entry(event: Event, origin: int, thread: int, function: str) -> _Entry:
    node = event.node
    if node is None:
        return _complete(function, "call", event.start, event.end, origin, thread, {"function": function})
    line = node.user_line
    args = {
        "function": function,
        "node": str(node),
        "line": "" if line is None else str(line),
        "shapes": [list(map(int, shape)) if shape is not None else None for shape in event.shapes],
    }
    return _complete(str(node.op), "node", event.start, event.end, origin, thread, args)


def _span_entry(span: Span, origin: int, thread: int, function: str) -> _Entry:
    args = {"function": function, "phase": " / ".join(span.path)}
    return _complete(span.path[-1], "compile", span.start, span.end, origin, thread, args)


def _origin(records: Sequence[FunctionRecord]) -> int:
    starts = [record.compile_start for record in records if record.compile_start]
    starts += [event.start for record in records for event in tuple(record.events)]
    return min(starts, default=0)


def trace_of(records: Sequence[FunctionRecord]) -> dict[str, object]:
    """Return the trace of some functions: their compilations, calls and nodes, as the object that the file holds."""
    origin = _origin(records)
    threads: dict[int, int] = {}

    def number(ident: int) -> int:
        return threads.setdefault(ident, len(threads) + 1)

    events: list[_Entry] = []
    for record in records:
        title = record.title
        spans = (*record.spans.ended, *record.call_spans)
        events += [_span_entry(span, origin, number(span.thread), title) for span in spans]
        events += [_node_entry(event, origin, number(event.thread), title) for event in tuple(record.events)]
    # At one time the longer event comes first: it is the outer one.
    events.sort(key=lambda e: (e["ts"], -e["dur"]))
    names = [_name("process_name", 0, "treadle")]
    names += [_name("thread_name", tid, f"thread {tid}") for tid in sorted(threads.values())]
    return {"traceEvents": [*names, *events], "displayTimeUnit": "ms"}


def _name(kind: str, thread: int, name: str) -> _Entry:
    return {"name": kind, "ph": "M", "ts": 0, "pid": os.getpid(), "tid": thread, "args": {"name": name}}


def write_trace(path: str | os.PathLike[str], records: Sequence[FunctionRecord]) -> None:
    """Write the trace of some functions to a file."""
    Path(path).write_text(json.dumps(trace_of(records)) + "\n", encoding="utf-8")
