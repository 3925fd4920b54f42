"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.ops.op_names import *  # noqa: F403
    from treadle.tensor import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor": (
                "BinCount SearchsortedOp=SearchSorted bartlett bincount broadcast_arrays broadcast_shape broadcast_to "
                "compress concat_with_broadcast cumprod cumsum diff fill_diagonal fill_diagonal_offset geomspace "
                "linspace logspace pack ravel_multi_index repeat searchsorted squeeze unique unpack unravel_index"
            ),
            "treadle.surface.ops.op_names": "CumOp",
        },
    )
