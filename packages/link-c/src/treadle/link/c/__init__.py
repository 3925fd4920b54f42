"""treadle.link.c: the C backend, a whole graph as one plain C99 file."""

from treadle.link.c.backend import BACKEND, WITH_STEPS
from treadle.link.c.table import TABLE

__all__ = ["BACKEND", "TABLE", "WITH_STEPS"]
