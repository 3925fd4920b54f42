"""Children forked while other threads hold locks: everything works in them."""

from __future__ import annotations

import gc
import os
import threading
import traceback
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.compile.functions.tiering.background import BackgroundThreads
from treadle.config import config, live_locks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def forked(work: Callable[[], None]) -> None:
    """Run something in a forked child, while another thread of the parent holds every lock but that forks wait for."""
    held, done = threading.Event(), threading.Event()
    # Once something was compiled in the background, as other tests may have done, also by threads of their own: nobody
    # holds these for long.
    pools = [each for each in gc.get_objects() if type(each) is BackgroundThreads]
    waited_for = {pool._changed._lock for pool in pools}  # type: ignore[attr-defined]  # a condition's lock

    def hold() -> None:
        with ExitStack() as stack:
            for lock in live_locks():
                if lock not in waited_for:
                    stack.enter_context(lock)
            held.set()
            done.wait(120)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            # A child that still waits for a lock after this time would wait for ever.
            threading.Timer(60, os._exit, [2]).start()
            work()
            code = 7
        except BaseException:  # noqa: BLE001 - a child must not run on into the tests that follow
            traceback.print_exc()
        finally:
            os._exit(code)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_a_child_works_whatever_locks_were_held_when_it_was_forked(mode: str, tmp_path: Path) -> None:
    x, state = tt.dvector("x"), shared(np.zeros(2))

    def compiled(scale: float) -> Any:
        return function([x], (x * scale).sum(), updates={state: state + x}, mode=mode)

    with config.change_flags(compiledir=str(tmp_path)):
        before = compiled(2.0)
        before(np.ones(2))

        def work() -> None:
            assert config.floatX == "float64"
            assert before(np.ones(2)) == 4
            after = compiled(3.0)
            assert after(np.ones(2)) == 6
            np.testing.assert_array_equal(state.get_value(), [3, 3])
            assert compiled(3.0)(np.ones(2)) == 6

        forked(work)
        entries = {p for p in tmp_path.rglob("*") if p.is_file()}
        assert len(entries) > 1
