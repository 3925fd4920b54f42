"""Ctrl-C in long loops: compiled loops of the main thread ask Python about twenty times a second whether to end.

Python's C signal handler only records that a signal came; the Python handlers run when the main thread next runs Python
code, which a loop that asks makes it do. Whatever a handler raises then, usually KeyboardInterrupt, ends the call.
"""

from __future__ import annotations

import threading
from typing import Any

from treadle.config import new_lock
from treadle.link.c.conventions.abi import BRIDGE

# The fields that loops read: the function that asks Python, the main thread's id, whether all loops are to end.
_ASKED, _THREAD, _ENDING = range(3)


class Watch:
    """The memory that loops check for an interrupt, allocated when the first program with a loop is loaded."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._words: Any = None
        self._callback: object = None
        self._raised: BaseException | None = None

    def address(self) -> int:
        """Return the address of the memory that loops check."""
        with self._lock:
            if self._words is None:
                ffi = BRIDGE.ffi
                self._callback = ffi.callback("int(*)(void)", _ask, error=1, onerror=self._note)
                main = threading.main_thread().ident or 0
                self._words = BRIDGE.words([BRIDGE.address(self._callback), main, 0])
        return BRIDGE.address(self._words)

    def _note(self, kind: object, error: BaseException, trace: object) -> None:
        """Keep an exception that a signal handler raised; all loops of the main thread end until it is taken."""
        self._raised = error
        self._words[_ENDING] = 1

    def take(self) -> BaseException:
        """Return the exception that a signal handler raised, for the call that it ended."""
        self._words[_ENDING] = 0
        error, self._raised = self._raised, None
        return KeyboardInterrupt() if error is None else error


def _ask() -> int:
    """Return that loops go on; handlers of signals that have come run before this function does, and may raise."""
    return 0


WATCH = Watch()
