"""Counters of what a cache did."""

from dataclasses import replace

from treadle.config import dataclass, new_lock, tally


@dataclass(frozen=True, slots=True)
class Statistics:
    """How often a cache of this process did what.

    `made` counts the calls of functions that make an entry; `damaged` the entries found unusable,
    which are misses as well.
    """

    hits: int = 0
    misses: int = 0
    puts: int = 0
    made: int = 0
    damaged: int = 0
    evictions: int = 0


class Counters:
    """The counters behind `Statistics`, exact under threads."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._values = Statistics()

    def count(self, name: str, times: int = 1) -> None:
        """Add to one counter."""
        with self._lock:
            self._values = replace(self._values, **{name: getattr(self._values, name) + times})
        tally(f"cache {name}", times)

    def read(self) -> Statistics:
        """Return the values of this moment."""
        return self._values
