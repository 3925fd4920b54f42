"""Functions with tiers under threads, interrupts, forks, and in processes that end while they are compiled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.cache.claims import Claims
from treadle.compile import FunctionMaker, function, shared
from treadle.compile.functions.tiering.background import BackgroundThreads
from treadle.config import Spans, checkpoint, collecting, config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Hold compilations in the background until the event is set."""
    event = threading.Event()
    plain = FunctionMaker.compiled_program

    def held(self: FunctionMaker, lookup: Any = None) -> Any:
        if threading.current_thread().name == "treadle background compilation":
            while not event.wait(0.005):
                checkpoint()
        return plain(self, lookup)

    monkeypatch.setattr(FunctionMaker, "compiled_program", held)
    with config.change_flags(cache__functions=False):
        yield event
    event.set()


@pytest.mark.parametrize("mode", ["C", "JAX"])
def test_no_update_is_lost_or_made_twice_while_the_tiers_change(mode: str, opened: threading.Event) -> None:
    threads, calls = 6, 60
    n, squares = shared(np.int64(0), name="n"), shared(np.zeros(3), name="squares")
    f = function([], [n, squares[0]], updates={n: n + 1, squares: squares + 2.0 * n + 1.0}, mode=mode, tiered=True)
    barrier = threading.Barrier(threads + 1)
    seen: list[tuple[int, float]] = []

    def work() -> None:
        barrier.wait()
        for _ in range(calls):
            count, square = f()
            seen.append((int(count), float(square)))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    barrier.wait()
    opened.set()
    f.wait()
    for worker in workers:
        worker.join()
    total = threads * calls
    assert sorted(count for count, _ in seen) == list(range(total))
    assert all(square == count**2 for count, square in seen)
    assert f.tier == mode.lower()
    count, square = f()
    assert (int(count), float(square)) == (total, total**2)


def test_call_that_has_begun_ends_on_the_tier_that_it_began_with(opened: threading.Event) -> None:
    x, total = tt.dvector("x"), shared(0.0)
    inside, go_on = threading.Event(), threading.Event()

    @tt.as_op([tt.dvector], [tt.dvector])
    def pause(value: Any) -> Any:
        inside.set()
        assert go_on.wait(60)
        return value + 0

    f = function([x], pause(x).sum(), updates={total: total + 1}, mode="CVM", tiered=True)
    results: list[float] = []
    first = threading.Thread(target=lambda: results.append(float(f(np.ones(2)))))
    first.start()
    assert inside.wait(60)
    opened.set()
    f.wait()
    assert f.tier == "cvm"
    assert results == []
    go_on.set()
    first.join()
    assert (results, float(total.get_value())) == ([2.0], 1.0)
    assert float(f(np.ones(2))) == 2.0
    assert float(total.get_value()) == 2.0


def test_interrupt_of_wait_leaves_the_compilation_alone(opened: threading.Event) -> None:
    x = tt.dscalar("x")
    f = function([x], x + 1, mode="C", tiered=True)
    main, compilation = threading.main_thread().ident, f.maker.tiers
    assert main is not None
    assert compilation is not None

    def interrupt() -> None:
        tick = threading.Event()
        while not compilation._waiting:
            tick.wait(0.002)
        signal.pthread_kill(main, signal.SIGINT)

    # A process that a shell runs in the background ignores the signal, unless it says otherwise.
    outer = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            f.wait(60)
    finally:
        signal.signal(signal.SIGINT, outer)
    assert float(f(1.0)) == 2.0
    opened.set()
    assert f.wait().tier == "c"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_child_that_is_forked_while_its_parent_compiles_compiles_itself(opened: threading.Event) -> None:
    x, total = tt.dscalar("x"), shared(0.0)
    f = function([x], x + total, updates={total: total + 1}, mode="C", tiered=True)
    f(1.0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            threading.Timer(60, os._exit, [2]).start()
            assert float(f(1.0)) == 2.0
            opened.set()
            assert f.wait(50).tier == "c"
            assert float(f(1.0)) == 3.0
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    opened.set()
    assert f.wait().tier == "c"
    assert float(f(1.0)) == 2.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_process_forks_while_work_in_the_background_stands_still() -> None:
    class Work:
        is_inside = False

        def run(self) -> None:
            while not done.is_set():
                self.is_inside = True
                begun.set()
                tick.wait(0.002)  # as if it imported something: a child would see it half-done
                self.is_inside = False
                threads.check()

        def lose(self) -> None:
            lost.append(self)

    begun, done, tick = threading.Event(), threading.Event(), threading.Event()
    threads, work, lost = BackgroundThreads(), Work(), list[Work]()
    assert threads.submit(work, 1)
    assert begun.wait(60)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(7 if (work.is_inside, lost, threads.running) == (False, [work], 0) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert not lost
    done.set()
    threads.close()


def test_work_that_waits_for_a_claim_of_another_thread_can_be_ended(tmp_path: Path) -> None:
    claims = Claims(lambda: 1.0, lambda: 60.0)
    checks: list[str] = []

    def check() -> None:
        checks.append("checked")
        if len(checks) == 3:
            raise KeyboardInterrupt

    def work() -> None:
        with (
            collecting(Spans(check)),
            pytest.raises(KeyboardInterrupt),
            claims.hold("key", tmp_path, lambda: False),
        ):
            checks.append("held")

    thread = threading.Thread(target=work)
    with claims.hold("key", tmp_path, lambda: False):
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
    assert checks == ["checked"] * 3
    assert claims._held == {}


ENDS = """
import threading
import treadle.tensor as tt
from treadle.compile import function
x = tt.dvector("x")
f = function([x], tt.exp(x) + 1, mode="C", tiered=True)
assert f([0.0]).tolist() == [2.0]
tick = threading.Event()
from treadle.compile.functions.tiering.background import THREADS
for _ in range(6000):
    if not THREADS.running or started():
        break
    tick.wait(0.005)
print(f.tier)
"""


def test_process_ends_while_a_compiler_runs_in_the_background(tmp_path: Path) -> None:
    compiler, log = tmp_path / "cc", tmp_path / "started"
    # It tells its version and more at once, and never ends compiling.
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *.c*) echo $$ > {log}; exec sleep 600;; *) exec gcc "$@";; esac\n')
    compiler.chmod(0o755)
    program = ENDS.replace("started()", f"__import__('os').path.exists({str(log)!r})")
    kept = tmp_path / "kept"
    flags = f"{os.environ.get('TREADLE_FLAGS', '')},base_compiledir={kept},cxx={compiler},c__support_libraries=False"
    environment = {**os.environ, "TREADLE_FLAGS": flags.lstrip(",")}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "vm", "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text()), 0)
    assert [path.name for path in kept.rglob("*") if path.name.startswith((".make-", ".write-"))] == []


def test_compiler_ends_with_the_work_that_it_is_for() -> None:
    from treadle.link.c.toolchain import _run

    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 3:
            raise KeyboardInterrupt

    with collecting(Spans(check)), pytest.raises(KeyboardInterrupt):
        _run(["sleep", "600"], "sleep 600")
    assert checks == 3
