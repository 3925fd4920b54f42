"""Spans of compilations: reported by the code that does the work, kept where somebody asks."""

import threading

import pytest

from treadle.config import Spans, checkpoint, collecting, counted, span, tally


def test_spans_are_kept_with_those_around_them() -> None:
    spans = Spans()
    seen = []
    with collecting(spans), span("linking"):
        seen.append(spans.path)
        with span("compiler"):
            seen.append(spans.path)
    assert seen == [("linking",), ("linking", "compiler")]
    assert [one.path for one in spans.ended] == [("linking", "compiler"), ("linking",)]
    inner, outer = spans.ended
    assert outer.start <= inner.start <= inner.end <= outer.end
    assert spans.seconds("linking") >= spans.seconds("compiler") >= 0


def test_nothing_is_kept_where_nobody_collects() -> None:
    spans = Spans()
    with span("rewriting"):
        tally("hits")
    with collecting(spans):
        pass
    assert (spans.ended, spans.counts) == ([], {})


def test_span_without_a_name_is_none() -> None:
    spans = Spans()
    with collecting(spans), span(""):
        assert spans.path == ()
    assert spans.ended == []


def test_span_inside_one_of_its_name_counts_once() -> None:
    spans = Spans()
    with collecting(spans), span("compiler"), span("compiler"):
        pass
    assert spans.seconds("compiler") == spans.ended[-1].seconds


def test_span_ends_when_it_fails() -> None:
    spans = Spans()
    with collecting(spans), pytest.raises(ZeroDivisionError), span("linking"):
        _ = 1 / len(spans.ended)
    assert spans.path == ()
    assert len(spans.ended) == 1


def test_inner_collection_keeps_its_own() -> None:
    outer, inner = Spans(), Spans()
    with collecting(outer), span("a"):
        with collecting(inner), span("b"):
            tally("hits", 2)
        tally("hits")
    assert ([s.path for s in outer.ended], outer.counts) == ([("a",)], {"hits": 1})
    assert ([s.path for s in inner.ended], inner.counts) == ([("b",)], {"hits": 2})


def test_threads_collect_for_themselves() -> None:
    spans = Spans()

    def work() -> None:
        with span("elsewhere"):
            tally("hits")

    with collecting(spans):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert (spans.ended, spans.counts) == ([], {})


def test_whoever_collects_may_end_the_work_at_any_span_step_or_checkpoint() -> None:
    calls: list[str] = []

    def check() -> None:
        calls.append("checked")
        if len(calls) == 5:
            raise KeyboardInterrupt

    def work() -> None:
        with collecting(Spans(check)), span("one"):
            assert checkpoint()
            # Whoever collects inside takes over the check.
            with collecting(inner):
                calls.extend(counted("abc"))

    assert not checkpoint()
    inner = Spans()
    with pytest.raises(KeyboardInterrupt):
        work()
    assert calls == ["checked", "checked", "checked", "a", "checked"]
    assert inner.check is None
