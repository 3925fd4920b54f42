"""treadle.scan: loops, at the path that the documentation has them at."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.tensor import scan, scan_checkpoints, until
    from treadle.tensor.loops.scan.views import filter, foldl, foldr, map, reduce
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor": "scan scan_checkpoints until",
            "treadle.tensor.loops.scan.views": "filter foldl foldr map reduce",
        },
    )

__all__ = ["filter", "foldl", "foldr", "map", "reduce", "scan", "scan_checkpoints", "until"]
