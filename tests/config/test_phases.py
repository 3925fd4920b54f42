"""Phases of compilations: told by those who do them, kept where somebody asks."""

import threading

import pytest

from treadle.config import Phases, collecting, phase, tally


def test_phases_are_kept_with_those_around_them() -> None:
    phases = Phases()
    seen = []
    with collecting(phases), phase("linking"):
        seen.append(phases.path)
        with phase("compiler"):
            seen.append(phases.path)
    assert seen == [("linking",), ("linking", "compiler")]
    assert [span.path for span in phases.spans] == [("linking", "compiler"), ("linking",)]
    inner, outer = phases.spans
    assert outer.start <= inner.start <= inner.end <= outer.end
    assert phases.seconds("linking") >= phases.seconds("compiler") >= 0


def test_nothing_is_kept_where_nobody_collects() -> None:
    phases = Phases()
    with phase("rewriting"):
        tally("hits")
    with collecting(phases):
        pass
    assert (phases.spans, phases.counts) == ([], {})


def test_phase_without_a_name_is_none() -> None:
    phases = Phases()
    with collecting(phases), phase(""):
        assert phases.path == ()
    assert phases.spans == []


def test_phase_inside_one_of_its_name_counts_once() -> None:
    phases = Phases()
    with collecting(phases), phase("compiler"), phase("compiler"):
        pass
    assert phases.seconds("compiler") == phases.spans[-1].seconds


def test_phase_ends_when_it_fails() -> None:
    phases = Phases()
    with collecting(phases), pytest.raises(ZeroDivisionError), phase("linking"):
        _ = 1 / len(phases.spans)
    assert phases.path == ()
    assert len(phases.spans) == 1


def test_inner_collection_keeps_its_own() -> None:
    outer, inner = Phases(), Phases()
    with collecting(outer), phase("a"):
        with collecting(inner), phase("b"):
            tally("hits", 2)
        tally("hits")
    assert ([s.path for s in outer.spans], outer.counts) == ([("a",)], {"hits": 1})
    assert ([s.path for s in inner.spans], inner.counts) == ([("b",)], {"hits": 2})


def test_threads_collect_for_themselves() -> None:
    phases = Phases()

    def work() -> None:
        with phase("elsewhere"):
            tally("hits")

    with collecting(phases):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert (phases.spans, phases.counts) == ([], {})
