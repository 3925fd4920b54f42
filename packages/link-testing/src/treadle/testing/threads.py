"""hammer: call one function from many threads at once, and check every answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from treadle.testing.domain import Array
from treadle.testing.errors import HammerError

T = TypeVar("T")

THREADS = 8
CALLS = 2_500


def hammer(
    function: Callable[..., T],
    arguments: Callable[[int], tuple[object, ...]],
    expected: Callable[[int], object] | None,
    threads: int = THREADS,
    calls: int = CALLS,
    distinct: int = 50,
    tolerance: float = 1e-9,
) -> list[T]:
    """Call a function from several threads at once; the threads wait for each other every hundred calls.

    Parameters
    ----------
    function
        The function to call; it must return one array or number.
    arguments
        A function from the number of a call to its arguments.
    expected
        A function from the number of a call to the right answer; None to check nothing.
    threads, calls
        The number of threads, and of calls in each.
    distinct
        The number of different calls; call numbers are smaller than this.
    tolerance
        The relative and absolute error allowed.

    Returns
    -------
    The answers of all threads.

    Raises
    ------
    HammerError
        If a call raises an error, or answers are wrong; the message has their number and the first of them.
    """
    inputs = [arguments(k) for k in range(distinct)]
    right_answers = [] if expected is None else [np.asarray(expected(k)) for k in range(distinct)]
    barrier = threading.Barrier(threads)
    answers: list[list[T]] = [[] for _ in range(threads)]
    raised: list[BaseException] = []

    def work(thread: int) -> None:
        thread_answers = answers[thread]
        try:
            for call in range(calls):
                if call % 100 == 0:
                    barrier.wait()
                thread_answers.append(function(*inputs[(call + thread * 7) % distinct]))
        except BaseException as error:  # noqa: BLE001 - whatever stops a thread is reported by the caller's
            raised.append(error)
            barrier.abort()

    workers = [threading.Thread(target=work, args=(t,)) for t in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    first = next((e for e in raised if not isinstance(e, threading.BrokenBarrierError)), None)
    if first is not None:
        msg = f"hammer: a call raised {type(first).__name__}: {first}"
        raise HammerError(msg) from first
    if expected is not None:
        _check(answers, right_answers, distinct, tolerance)
    return [answer for thread_answers in answers for answer in thread_answers]


def _check(answers: list[list[T]], right_answers: list[Array], distinct: int, tolerance: float) -> None:
    wrong = 0
    example = ""
    for thread, thread_answers in enumerate(answers):
        for call, answer in enumerate(thread_answers):
            right = right_answers[(call + thread * 7) % distinct]
            result = np.asarray(answer)
            if result.shape != right.shape or not np.allclose(result, right, rtol=tolerance, atol=tolerance):
                wrong += 1
                example = example or f"thread {thread}, call {call}: {answer!r}, expected {right!r}"
    if wrong:
        msg = f"hammer: {wrong} of {sum(map(len, answers))} answers are wrong, the first in {example}."
        raise HammerError(msg)
