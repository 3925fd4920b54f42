"""The pool of large blocks, which lets results and intermediate values reuse memory that was released.

Fresh memory costs as much as the arithmetic on it: the system clears each page when it is first touched. A result
from the pool is a view on a block, which goes back to the pool when its last view dies.
"""

from __future__ import annotations

from pathlib import Path

from treadle.config import dataclass, new_lock
from treadle.link.c.conventions.abi import BRIDGE, Function
from treadle.link.vm import pool_limit


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """Counts of the blocks that the pool handed out and holds."""

    # Blocks that programs asked for.
    asked: int
    # Of these, blocks that had been used before.
    reused: int
    # The number of blocks that it holds now, and of their bytes.
    blocks: int
    held: int


class Pool:
    """The pool's library, and the memory where programs find its functions, which is zero until it is loaded."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._cell: object = None
        self._address = 0
        self._kept: tuple[object, ...] = ()
        self._give: Function | None = None
        self._counts: Function | None = None
        self._limit: Function | None = None

    @property
    def cell(self) -> int:
        """The address of two words: the functions that take and that release a block; zero while there are none."""
        with self._lock:
            if self._cell is None:
                self._cell = BRIDGE.words([0, 0])
                self._address = BRIDGE.address(self._cell)
            return self._address

    @property
    def ready(self) -> bool:
        """Whether there is a pool."""
        return self._give is not None

    def install(self, path: Path) -> None:
        """Use the library at a path, until the process ends."""
        ffi = BRIDGE.ffi
        # Never unloaded: blocks go back when their last view dies, which may be after the end of Python's modules.
        library = BRIDGE.open(path, forever=True)
        take, give = (
            library.load_function(ffi.typeof(kind), name)
            for kind, name in (("void *(*)(int64_t)", "treadle_pool_take"), ("void(*)(void *)", "treadle_pool_give"))
        )
        limit = library.load_function(ffi.typeof("void(*)(int64_t)"), "treadle_pool_limit")
        counts = library.load_function(ffi.typeof("void(*)(int64_t *)"), "treadle_pool_counts")
        limit(pool_limit())
        address = self.cell
        with self._lock:
            if self._give is not None:
                return
            cell = ffi.cast("uintptr_t *", address)
            cell[0], cell[1] = (int(ffi.cast("uintptr_t", f)) for f in (take, give))
            self._kept = (library, take)
            self._limit, self._counts, self._give = limit, counts, give

    def give(self) -> Function | None:
        """Return the C function that gives a block back to the pool."""
        return self._give

    def counts(self) -> PoolCounts:
        """Return the counts since the process began."""
        if self._counts is None:
            return PoolCounts(0, 0, 0, 0)
        numbers = BRIDGE.ffi.new("int64_t[]", 4)
        self._counts(numbers)
        return PoolCounts(*numbers)

    def release(self) -> None:
        """Give all blocks that the pool holds back to the system."""
        if self._limit is not None:
            self._limit(0)
            self._limit(pool_limit())


POOL = Pool()
