"""Ctrl-C in long loops: compiled loops of the main thread ask Python, some twenty times a second, whether to end.

Python's own handler of signals only notes that one came; what is to be done about it is done when the main thread next
runs Python code. A loop that asks lets it run: whatever a handler raises, KeyboardInterrupt mostly, ends the call.
"""

from __future__ import annotations

import threading
from typing import Any

from treadle.config import new_lock
from treadle.link.c.conventions.abi import BRIDGE

# What loops find in the watch: the function to ask, the main thread, whether all are to end.
_ASKED, _THREAD, _ENDING = range(3)


class Watch:
    """What loops look at, made when the first program with a loop is loaded."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._words: Any = None
        self._callback: object = None
        self._raised: BaseException | None = None

    def address(self) -> int:
        """Return the address of what loops look at."""
        with self._lock:
            if self._words is None:
                ffi = BRIDGE.ffi
                self._callback = ffi.callback("int(*)(void)", _ask, error=1, onerror=self._note)
                main = threading.main_thread().ident or 0
                self._words = BRIDGE.words([BRIDGE.address(self._callback), main, 0])
        return BRIDGE.address(self._words)

    def _note(self, kind: object, error: BaseException, trace: object) -> None:
        """Keep what a handler of a signal raised; all loops of the main thread end until it is taken."""
        self._raised = error
        self._words[_ENDING] = 1

    def take(self) -> BaseException:
        """Return what a handler raised, for the call that it ended."""
        self._words[_ENDING] = 0
        error, self._raised = self._raised, None
        return KeyboardInterrupt() if error is None else error


def _ask() -> int:
    """Return that nothing is to end: the handlers of signals that have come run before this does, and may raise."""
    return 0


WATCH = Watch()
