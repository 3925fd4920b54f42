"""Ctrl-C in long loops: compiled loops of the main thread ask Python about twenty times a second whether to end.

Python's C signal handler only records that a signal came; the Python handlers run when the main thread asks. Whatever
they raise then, usually KeyboardInterrupt, ends the call.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module

if TYPE_CHECKING:
    import ctypes
else:
    # Only programs with loops need it.
    ctypes = lazy_module("ctypes")

# What compiled code calls, in this order, behind the words below; it does so with the lock that the first one takes.
_FUNCTIONS = ("PyGILState_Ensure", "PyErr_CheckSignals", "PyErr_Fetch", "PyGILState_Release")
_RAISED = 1


class Watch:
    """Memory that loops read: the main thread's id, an exception's type, value and traceback, and functions.

    While there is an exception, all loops of the main thread end.
    """

    def __init__(self) -> None:
        self._words: Any = None

    def address(self) -> int:
        """Return the address of that memory."""
        if self._words is None:
            functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _FUNCTIONS]
            words = [threading.main_thread().ident, 0, 0, 0, *functions]
            self._words = (ctypes.c_void_p * len(words))(*words)
        return ctypes.addressof(self._words)

    def take(self) -> BaseException:
        """Return the exception that a signal handler raised, for the call that it ended."""
        raised = [ctypes.c_void_p(word) for word in self._words[_RAISED : _RAISED + 3]]
        self._words[_RAISED : _RAISED + 3] = [0, 0, 0]
        try:
            ctypes.pythonapi.PyErr_Restore(*raised)
        except BaseException as error:  # noqa: BLE001 - it is raised by the caller
            return error
        return KeyboardInterrupt()


WATCH = Watch()
