"""Trace files in the Chrome trace format."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.compile.profiling import ProfileStats, recording


def trace_of(stats: ProfileStats, path: Path) -> list[dict[str, Any]]:
    file = path / "trace.json"
    stats.write_trace(file)
    trace = json.loads(file.read_text())
    assert set(trace) == {"displayTimeUnit", "traceEvents"}
    events: list[dict[str, Any]] = trace["traceEvents"]
    return events


def profiled(calls: int = 3, **settings: Any) -> tuple[ProfileStats, Any]:
    x = tt.dmatrix("x")
    stats = ProfileStats(atexit_print=False, **settings)
    f = function([x], tt.exp(x) @ tt.tanh(x), mode="VM", profile=stats, name="model")
    for _ in range(calls):
        f(np.ones((2, 2)))
    return stats, f


def test_every_event_has_what_the_format_asks_for(tmp_path: Path) -> None:
    stats, _ = profiled()
    events = trace_of(stats, tmp_path)
    for event in events:
        assert event["ph"] in {"X", "M"}
        assert {"name", "ph", "ts", "pid", "tid", "args"} <= set(event)
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert event["ts"] >= 0
    complete = [event for event in events if event["ph"] == "X"]
    assert [e["ts"] for e in complete] == sorted(e["ts"] for e in complete)


def assert_nested(events: list[dict[str, Any]]) -> int:
    """Check that events of one thread contain each other or are apart, with exact arithmetic; return the depth."""
    deepest = 0
    for tid in {e["tid"] for e in events}:
        open_: list[float] = []
        for event in (e for e in events if e["tid"] == tid):
            start, end = event["ts"], event["ts"] + event["dur"]
            while open_ and open_[-1] <= start:
                open_.pop()
            assert not open_ or end <= open_[-1]
            open_.append(end)
            deepest = max(deepest, len(open_))
    return deepest


def test_nodes_lie_inside_calls_and_phases_inside_compilations(tmp_path: Path) -> None:
    stats, _ = profiled(50)
    complete = [e for e in trace_of(stats, tmp_path) if e["ph"] == "X"]
    assert assert_nested(complete) >= 2
    calls = [e for e in complete if e["cat"] == "call"]
    nodes = [e for e in complete if e["cat"] == "node"]
    assert len(calls) == 50
    assert len(nodes) == 50 * 3
    for node in nodes:
        inside = [c for c in calls if c["ts"] <= node["ts"] and node["ts"] + node["dur"] <= c["ts"] + c["dur"]]
        assert len(inside) == 1
    phases = {e["name"] for e in complete if e["cat"] == "compile"}
    assert {"rewriting", "canonicalize", "linking"} <= phases


def test_nodes_show_their_line_and_shapes(tmp_path: Path) -> None:
    stats, _ = profiled(1)
    events = [e for e in trace_of(stats, tmp_path) if e.get("cat") == "node"]
    (matmul,) = [e for e in events if "MatMul" in e["name"]]
    assert matmul["args"]["shapes"] == [[2, 2]]
    assert "test_profiling_trace.py:" in matmul["args"]["line"]
    assert matmul["args"]["function"] == "model"
    assert matmul["args"]["node"].startswith("MatMul(")


def test_threads_have_lines_of_their_own(tmp_path: Path) -> None:
    stats, f = profiled(1)
    start = threading.Barrier(3)

    def work() -> None:
        start.wait()
        for _ in range(20):
            f(np.ones((2, 2)))
        start.wait()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = trace_of(stats, tmp_path)
    complete = [e for e in events if e["ph"] == "X"]
    assert_nested(complete)
    used = {e["tid"] for e in complete if e["cat"] == "call"}
    assert len(used) == 4
    named = {e["tid"] for e in events if e["name"] == "thread_name"}
    assert used <= named


def test_trace_without_calls_holds_the_compilation(tmp_path: Path) -> None:
    stats, _ = profiled(0)
    assert {e["cat"] for e in trace_of(stats, tmp_path) if e["ph"] == "X"} == {"compile"}


def test_empty_profile_writes_a_trace_without_events(tmp_path: Path) -> None:
    events = trace_of(ProfileStats(atexit_print=False), tmp_path)
    assert [e["ph"] for e in events] == ["M"]


def test_only_the_latest_events_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_EVENTS", 10)
    stats, _ = profiled(50)
    complete = [e for e in trace_of(stats, tmp_path) if e["ph"] == "X"]
    assert len([e for e in complete if e["cat"] != "compile"]) == 10
    assert_nested(complete)
    assert stats.fct_callcount == 50


@pytest.mark.documents("ProfileStats.write_trace")
def test_whole_calls_are_traced_where_nodes_are_not_timed(tmp_path: Path) -> None:
    stats, _ = profiled(4, flag_time_thunks=False)
    cats = [e["cat"] for e in trace_of(stats, tmp_path) if e["ph"] == "X"]
    assert cats.count("call") == 4
    assert "node" not in cats
