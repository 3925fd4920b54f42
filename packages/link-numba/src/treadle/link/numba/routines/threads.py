"""Threads of compiled code: how many there are, and functions of generated code that begin them and wait for them."""

from __future__ import annotations

from treadle.config import config, usable_processors

# The most threads, and the bytes of what each is given.
THREADS, SHARE = 64, 64

TEXT = f"""
def cut_at(n, piece, pieces):  # i8 i8 i8
    # Where a piece starts: at whole lines of memory, if the dimension is long.
    start = n * piece // pieces
    if n >= 64 * pieces and piece < pieces:
        start = start - (start & 63)
    return start

def run_in_threads(threads, pieces, function, room, shares):  # i8 i8 i8 i8 i8
    # Each thread runs the function on its share of the pieces; those of threads that do not start are run here.
    count = max(min(threads, pieces), 1)
    for t in range(count):
        share = as_i8(shares + {SHARE} * t)
        share[0] = pieces * t // count
        share[1] = pieces * (t + 1) // count
        share[2] = room
        if t > 0:
            begun = library_pthread_create_wwww(shares + {SHARE} * t + 32, 0, function, shares + {SHARE} * t)
            share[3] = i8(i4(begun))
    call_i8_i8(function, shares)
    for t in range(1, count):
        share = as_i8(shares + {SHARE} * t)
        if share[3] == 0:
            library_pthread_join_ww(share[4], 0)
        else:
            call_i8_i8(function, shares + {SHARE} * t)
    return 0
"""


def thread_count() -> int:
    """Return the number of threads that loops are shared among: option ``numba__threads``."""
    return int(config.numba__threads) or usable_processors()
