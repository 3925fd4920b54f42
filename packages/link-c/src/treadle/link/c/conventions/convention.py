"""The conventions of generated C and the Python that calls it: status codes, the table of fixed values, arguments."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The lowest eight bits of what a program returns; the next 24 bits are the number of the node.

    For a node in a loop's body, the next 30 bits are the step of the innermost loop, counted from 1, and bit `MANY`
    says whether so many steps were made that repeating them in Python would take long.

    C names them by macros: ``TR_SHAPE`` is `SHAPE`.
    """

    OK = 0
    WRAPPED = 1  # some results stand in memory of the program's own
    CHECK = 2  # an argument is not a plain, aligned array of its type
    SHAPE = 3
    INDEX = 4
    MEMORY = 5
    EMPTY = 6
    POWER = 7
    TOO_LONG = 8
    LENGTH = 9
    ASSERTION = 10
    MATRIX = 11
    PARAMETER = 12
    STEPS = 13
    SEQUENCE = 14
    ROWS = 15
    INTERRUPT = 16  # a handler of a signal raised


# A user's function that returns 1 to MOST_ERRORS gives the status USER plus that number.
USER = 100
MOST_ERRORS = 155
# The masks of the numbers of nodes and steps, the bit for many steps, and how many steps are many.
NODES = (1 << 24) - 1
STEPS = (1 << 30) - 1
MANY = 62
MANY_STEPS = 20_000
# More arguments than this are passed as one array.
MOST_ARGUMENTS = 48
# The table of fixed values starts with these: NumPy's array type, the address of the pool's functions, BLAS, the
# address of the table of NumPy's sorting functions, and that of the memory that loops check for an interrupt.
FIXED = ("type", "pool", "dgemm", "sgemm", "dgemv", "sgemv", "zgemm", "cgemm", "zgemv", "cgemv", "sorts", "watch")
# A block of this many bytes is large: it may come from the pool and go back to it.
LARGE = 65536
# The number of nodes in one C function, since compilers take more than linear time for long functions.
CHUNK = 64
