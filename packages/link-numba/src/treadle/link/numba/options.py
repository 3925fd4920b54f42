"""The options of treadle.link.numba."""

from __future__ import annotations

from treadle.config import INT, Option

OPTIONS: tuple[Option[object], ...] = (
    Option.boolean(
        "numba__fastmath",
        default=False,
        doc="Let the compiler reorder, contract and approximate floating-point operations, as if there were neither "
        "NaN nor infinity. False by default, so that both are kept as NumPy keeps them; the sums inside reductions "
        "are reordered in any case, with compensation, and vector math needs no fastmath here.",
    ),
    Option.boolean(
        "numba__parallel",
        default=False,
        doc="Share elementwise loops and reductions of compiled code among threads, which are begun for a loop and end "
        "with it. Results do not depend on how many there are. Not on Windows.",
    ),
    Option.integer(
        "numba__parallel_minsize",
        default=200000,
        doc="The number of elements from which loops are shared among threads, with numba__parallel.",
        kind=INT.where("an integer > 0", lambda value: value > 0),
    ),
    Option.integer(
        "numba__threads",
        default=0,
        doc="The number of threads that loops are shared among, at most 64, with numba__parallel. 0: as many as there "
        "are processors for the process.",
        kind=INT.where("an integer from 0 to 64", lambda value: 0 <= value <= 64),
    ),
    Option.boolean(
        "numba__cache",
        default=True,
        doc="Keep what Numba compiles in the compile cache, so that later processes load it.",
        affects_code=False,
    ),
)
