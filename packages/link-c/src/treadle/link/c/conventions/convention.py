"""What generated C and the Python that calls it agree on: status codes, the table of fixed values, arguments."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """What a program returns, in its lowest eight bits; the number of the node stands in the 24 above.

    Of a node in a loop's body, the number of the innermost loop's step, counted from 1, follows in 30 more, and in bit
    `MANY` whether so many steps were made that making them again in Python takes long.

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


# Codes from this one on are what a user's function returned, 1 to MOST_ERRORS, added to it.
USER = 100
MOST_ERRORS = 155
# Masks of the numbers of nodes and steps, the bit that stands for many steps, and how many these are.
NODES = (1 << 24) - 1
STEPS = (1 << 30) - 1
MANY = 62
MANY_STEPS = 20_000
# Above this many arguments, they are passed as one array.
MOST_ARGUMENTS = 48
# The table of fixed values starts with these: NumPy's array type, where the pool's functions stand, then BLAS; the
# last say where the addresses of NumPy's sorting functions stand, and what loops look at to end when interrupted.
FIXED = ("type", "pool", "dgemm", "sgemm", "dgemv", "sgemv", "zgemm", "cgemm", "zgemv", "cgemv", "sorts", "watch")
# Bytes from which a block is large: it may come from the pool, and go back to it.
LARGE = 65536
# Nodes in one C function: compilers take more than linear time for long functions.
CHUNK = 64
