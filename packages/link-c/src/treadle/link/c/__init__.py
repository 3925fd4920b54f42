"""treadle.link.c: the C backend, a whole graph as one plain C99 file."""

from treadle.link.c.backend import BACKEND

__all__ = ["BACKEND"]
