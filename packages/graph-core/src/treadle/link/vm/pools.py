"""How much memory a backend may keep for results and intermediate values of later calls."""

from __future__ import annotations

import os

# A pool holds at most a sixteenth of the machine's memory, and at most this many bytes.
MOST_BYTES = 1 << 28
_SHARE = 16


def pool_limit() -> int:
    """Return the number of bytes that a pool of blocks may hold on this machine."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return MOST_BYTES
    return min(MOST_BYTES, machine // _SHARE)
