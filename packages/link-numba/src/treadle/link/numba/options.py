"""The options of treadle.link.numba."""

from __future__ import annotations

from treadle.config import Option

OPTIONS: tuple[Option[object], ...] = (
    Option.boolean(
        "numba__fastmath",
        default=False,
        doc="Let the compiler reorder, contract and approximate floating-point operations, as if there were neither "
        "NaN nor infinity. False by default, so that both are kept as NumPy keeps them; the sums inside reductions "
        "are reordered in any case, with compensation, and vector math needs no fastmath here.",
    ),
    Option.boolean(
        "numba__cache",
        default=True,
        doc="Keep what Numba compiles in the compile cache, so that later processes load it.",
        affects_code=False,
    ),
)
