"""Text of loops that a signal may end: they watch the memory of `treadle.link.vm.WATCH`."""

from __future__ import annotations

import time

# The primitive that asks Python for interrupts, as generated text calls it.
CALL = "watched("
# A loop that computes only scalars first looks for an interrupt after this many steps; others after the first step.
FIRST_LOOK = 4096
# Returns after how many steps a loop looks again, which it adapts to the clock; -1 where the loop is to end.
WATCHED = f"""
def seconds(clock):  # i8
    # Returns what a clock of the system says.
    told = room_i8_2(0)
    library_clock_gettime_iw(clock, place_i8(told))
    return f8(told[0]) + f8(told[1]) * 1e-9

def python_ends(words):  # i8
    # Runs Python's signal handlers; stores an exception that they raise behind the first word.
    state = python_PyGILState_Ensure_n(words)
    ends = i4(python_PyErr_CheckSignals_n(words)) != 0
    if ends:
        python_PyErr_Fetch_www(words + 8, words + 16, words + 24)
    python_PyGILState_Release_i(state)
    return ends

def watched(words, i, every, seen, asked):  # i8 i8 i8 f8 f8
    told = as_i8(words)
    if words == 0 or told[0] != library_pthread_self_n(i):
        return 4611686018427387904, seen, asked
    now = seconds({time.CLOCK_MONOTONIC})
    if seen == 0:
        return i, now, now
    if now - seen < 0.01 and every < 1099511627776:
        every = every * 2
    elif now - seen > 0.04 and every > 1:
        every = every // 2
    if now - asked > 0.05:
        asked = now
        if python_ends(words):
            every = -1
    return every, now, asked
"""
