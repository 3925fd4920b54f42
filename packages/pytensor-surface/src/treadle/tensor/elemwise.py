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
            "treadle.tensor": "DimShuffle Elemwise",
            "treadle.surface.ops.op_names": "CAReduce",
        },
    )
