"""The pool of large blocks, which lets results and intermediate values use memory again that was released.

Fresh memory costs as much as the arithmetic on it: the system clears each page when it is first touched. A result is an
array that owns its block, which goes back to the pool when the last view of it dies. All programs of a process share
the pool. It has no lock: places for blocks are taken and filled by atomic exchanges, so that no thread waits for
another, and a forked child finds it whole.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np
from numpy.typing import NDArray

from treadle.link.vm import pool_limit

# Smaller blocks are left to the C library, which uses memory again, too; glibc gives larger ones back to the system.
LEAST_BYTES = 1 << 16
PLACES = 64
# Blocks of at least two of these are made of huge pages, which the system clears at once.
_HUGE_PAGE, _PAGE = 1 << 21, 4096
# What stands in the pool's words: the bytes that it may hold and that it holds, requests that found no block and that
# found one, and from here on a word for each block, 0 for none; then for each place the size of the block that was last
# put there, which tells those that are looking whether to take it.
FIRST = 4

# Before each block stand 64 bytes, which begin with its size: one of eight between powers of two, so that requests of
# about the same size find each other's blocks. A request that finds none drops an old one.
TEXT = f"""
def block_new(frame, nbytes):  # i8 i8
    words = as_i8(frame)[-1]
    if nbytes < {LEAST_BYTES} or words == 0:
        return buffer_new(nbytes)
    data = pool_take(nbytes, words)
    if data == 0:
        return 0
    made = buffer_around(data, nbytes, address_of(pool_give), words)
    if made == 0:
        pool_give(data, nbytes, words)
    return made

def pool_take(nbytes, words):  # i8 i8
    table = as_i8(words)
    step = {LEAST_BYTES // 8}
    while nbytes >> 4 >= step:
        step = step + step
    room = (nbytes + (step - 1)) & -step
    for k in range({FIRST}, {FIRST + PLACES}):
        if table[k + {PLACES}] == room and table[k] != 0:
            block = exchange(words + 8 * k, 0)
            if block != 0:
                if as_i8(block)[0] == room:
                    add_to(words + 8, -room)
                    add_to(words + 24, 1)
                    return block + 64
                if exchange_if(words + 8 * k, 0, block) != 0:
                    pool_drop(words, block)
    old = exchange(words + 8 * ({FIRST} + (add_to(words + 16, 1) & {PLACES - 1})), 0)
    if old != 0:
        pool_drop(words, old)
    block = pages_new(room + 64)
    if block == 0:
        return 0
    head = as_i8(block)
    head[0] = room
    return block + 64

def pages_new(nbytes):  # i8
    # Returns the address of memory, which is of huge pages if it is large; 0 if there is no more.
    place = room_i8_1(0)
    is_large = nbytes >= {2 * _HUGE_PAGE}
    if i4(library_posix_memalign_www(place_i8(place), {_HUGE_PAGE} if is_large else {_PAGE}, nbytes)) != 0:
        return 0
    if is_large:
        library_madvise_wwi(place[0], nbytes, {getattr(mmap, "MADV_HUGEPAGE", 14)})
    return place[0]

def pool_give(data, size, words):  # i8 i8 i8
    block = data - 64
    table = as_i8(words)
    room = as_i8(block)[0]
    if add_to(words + 8, room) + room <= table[0]:
        for k in range({FIRST}, {FIRST + PLACES}):
            if table[k] == 0 and exchange_if(words + 8 * k, 0, block) == 0:
                table[k + {PLACES}] = room
                return 0
    pool_drop(words, block)
    return 0

def pool_drop(words, block):  # i8 i8
    add_to(words + 8, -as_i8(block)[0])
    library_free_w(block)
    return 0
"""


class Pool:
    """The pool's words, which programs find by a word of their tables."""

    def __init__(self) -> None:
        self._words: NDArray[np.int64] = np.zeros(FIRST + 2 * PLACES, np.int64)
        self._words[0] = pool_limit()
        # Never freed: blocks go back when their last view dies, which may be after the end of Python's modules.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._words))

    def address(self) -> int:
        """Return the address of the words; 0 where there is no pool."""
        return int(self._words.ctypes.data) if sys.platform == "linux" else 0

    @property
    def made(self) -> int:
        """How many blocks were taken from the system."""
        return int(self._words[2])

    @property
    def reused(self) -> int:
        """How many requests were answered with a block that had been used before."""
        return int(self._words[3])

    @property
    def held(self) -> int:
        """The number of bytes of the blocks that the pool holds now."""
        return int(self._words[1])


POOL = Pool()
