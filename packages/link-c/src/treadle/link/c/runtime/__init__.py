"""treadle.link.c.runtime: the C text that generated programs call, of which each takes what it uses."""

from treadle.link.c.runtime.library import Library

__all__ = ["Library"]
