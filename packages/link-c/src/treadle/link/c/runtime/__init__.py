"""treadle.link.c.runtime: the C functions that generated programs call; each program includes those that it uses."""

from treadle.link.c.runtime.library import Library

__all__ = ["Library"]
