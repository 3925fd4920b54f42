"""Copies and pickles made while other threads call: what is updated together is copied together."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import In, function, shared
from treadle.graph import Container

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = int(os.environ.get("TREADLE_SNAPSHOTS", "15"))
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda f: pickle.loads(pickle.dumps(f)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "method": lambda f: f.copy(),
}


def defaults(f: Any) -> list[float]:
    return [float(f.container[name].data[0]) for name in ("p", "q")]


def state(f: Any) -> list[float]:
    return [float(v.get_value()[0]) for v in f.get_shared()]


def make(mode: str) -> Any:
    p, q = tt.dvector("p"), tt.dvector("q")
    a, b = shared(np.zeros(4), name="a"), shared(np.zeros(4), name="b")
    kept = [In(v, value=np.zeros(4), update=v + 1) for v in (p, q)]
    return function(kept, [], updates=[(a, a + 1), (b, b[:].inc(1))], mode=mode)


@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
@pytest.mark.parametrize("mode", ["VM", "C", "JAX"])
def test_calls_between_the_cells_of_a_pickle_do_not_tear_it(
    way: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = make(mode)
    f()
    original = Container.__reduce__

    def reduce(cell: Container) -> tuple[Any, ...]:
        reduced = original(cell)
        thread = threading.Thread(target=f)
        thread.start()
        thread.join()
        return reduced

    monkeypatch.setattr(Container, "__reduce__", reduce)
    copied = WAYS[way](f)
    monkeypatch.undo()
    assert state(f)[0] > 1
    assert state(copied) == [1, 1]
    assert defaults(copied) == [1, 1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["VM", "C"])
def test_copies_made_while_eight_threads_call_are_of_one_moment(way: str, mode: str) -> None:
    f = make(mode)
    f()
    stop, barrier = threading.Event(), threading.Barrier(9)

    def work() -> None:
        barrier.wait()
        while not stop.is_set():
            f()

    threads = [threading.Thread(target=work) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        barrier.wait()
        for _ in range(COUNT):
            copied = WAYS[way](f)
            assert len(set(defaults(copied))) == 1
            if way in {"pickle", "deepcopy"}:
                assert len({*state(copied), *defaults(copied)}) == 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
