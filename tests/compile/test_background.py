"""Threads that compile in the background, by themselves."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from treadle.compile.functions.tiering.background import BackgroundThreads


def test_threads_end_with_the_process_and_drop_what_waits() -> None:
    class Work:
        def __init__(self) -> None:
            self.ran = False

        def run(self) -> None:
            self.ran = True
            begun.set()
            done.wait(60)

        def lose(self) -> None:
            raise AssertionError

    begun, done = threading.Event(), threading.Event()
    threads = BackgroundThreads()
    first, second = Work(), Work()
    assert threads.submit(first, 1)
    assert begun.wait(60)
    assert threads.submit(second, 1)
    threading.Timer(0.02, done.set).start()
    threads.close()
    assert (first.ran, second.ran, threads.running) == (True, False, 0)
    assert not threads.submit(second, 1)


@pytest.mark.filterwarnings("error")
def test_end_of_the_process_interrupts_work_that_asks_for_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    class Work:
        def run(self) -> None:
            begun.set()
            with suppress(BaseException):
                self.wait()  # where the error is lost
            self.wait()

        def wait(self) -> None:
            tick = threading.Event()
            while True:
                tick.wait(0.01)

        def lose(self) -> None:
            raise AssertionError

    begun, threads, work = threading.Event(), BackgroundThreads(), Work()
    assert threads.submit(work, 1)
    assert begun.wait(60)
    threads.close()
    assert not any(thread.is_alive() for thread in threads._threads)
    assert capsys.readouterr().err == ""
