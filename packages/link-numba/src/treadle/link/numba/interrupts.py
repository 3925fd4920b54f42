"""Ctrl-C in long loops: compiled loops of the main thread ask Python, some twenty times a second, whether to end.

Python's own handler of signals only notes that one came; what is to be done about it is done when the main thread asks.
Whatever a handler raises then, KeyboardInterrupt mostly, ends the call.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# What programs that look call, as it stands in their text.
CALL = "watched("
# Steps of scalars alone that a loop makes before it looks for the first time; others look after the first step.
FIRST_LOOK = 4096
# A loop looks at the clock after a number of steps that is found by looking: -1 where it is to end.
WATCHED = """
def watched(words, i, every, seen, asked):  # i8 i8 i8 f8 f8
    told = as_i8(words)
    if words == 0 or told[0] != this_thread(i):
        return 4611686018427387904, seen, asked
    now = seconds(i)
    if seen == 0:
        return i, now, now
    if now - seen < 0.01 and every < 1099511627776:
        every = every * 2
    elif now - seen > 0.04 and every > 1:
        every = every // 2
    if now - asked > 0.05:
        asked = now
        if python_ends(words) != 0:
            every = -1
    return every, now, asked
"""


class Watch:
    """What loops look at: the main thread, and room for what a handler raised: its type, value and traceback."""

    def __init__(self) -> None:
        self._words: NDArray[np.int64] = np.zeros(4, np.int64)

    def address(self) -> int:
        """Return the address of what loops look at."""
        self._words[0] = threading.main_thread().ident or 0
        return int(self._words.ctypes.data)

    def raise_taken(self) -> None:
        """Raise what a handler raised, in the call that it ended."""
        parts = [ctypes.c_void_p(int(word) or None) for word in self._words[1:]]
        self._words[1:] = 0
        # Python raises what this leaves behind, as it returns.
        ctypes.pythonapi.PyErr_Restore(*parts)
        raise KeyboardInterrupt


WATCH = Watch()
