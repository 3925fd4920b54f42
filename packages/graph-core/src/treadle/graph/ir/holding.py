"""Calls hold the locks of cells while they run; no exception, wherever it is raised, leaves one of them held.

Python handles interrupts where a call returns, where a loop begins again, and where a Python function begins. None of
these lies between ``with`` taking one of the interpreter's own locks and its block, nor between the end of the block
and the release: one ``with`` for each lock has no gap, as long as no function written in Python takes or releases it.

A trace function, such as a debugger's, can raise at any instruction, also at those with which a block ends. The lock is
then still held when the frame that took it is left. So where an exception leaves a call from a line that takes a lock,
the call counts how often its thread should hold the lock, and releases it down to that count.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType, TracebackType

CALL_FILE = "<treadle call>"
"""The file name of generated callers.

Their globals have ``places``: by line of a ``with``, the cell that it locks. Those that take many locks together have
``locks``, and variables ``taken`` and ``gone``, as long as the number of those taken and of those let go.
"""


def _holds(frame: FrameType, lock: object) -> int:
    """Return how often a caller's frame holds a lock: its blocks begin in lines before the frame's current one."""
    if frame.f_code.co_filename != CALL_FILE:
        return 0
    places, local = frame.f_globals["places"], frame.f_locals
    locks = [cell.lock for line, cell in places.items() if line < frame.f_lineno]
    if "taken" in local:
        locks += frame.f_globals["locks"][len(local["gone"]) : len(local["taken"])]
    return sum(other is lock for other in locks)


def let_go(lock: Any, frame: FrameType | None) -> None:
    """Release a lock of this thread until it is held only as often as a frame and its callers hold it."""
    holds = 0
    while frame is not None:
        holds += _holds(frame, lock)
        frame = frame.f_back
    if not lock._is_owned():
        return
    if holds:
        _, owner = lock._release_save()
        lock._acquire_restore((holds, owner))
        return
    while lock._is_owned():
        lock.release()


def settle(error: BaseException) -> None:
    """Release the lock of a line that an exception came from; a caller calls it before the exception leaves it."""
    trace: TracebackType | None = error.__traceback__
    outside = sys._getframe(1).f_back
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_filename == CALL_FILE and trace.tb_lineno in frame.f_globals["places"]:
            let_go(frame.f_globals["places"][trace.tb_lineno].lock, outside)
        trace = trace.tb_next
