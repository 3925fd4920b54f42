"""treadle.link.numba: the Numba backend. Numba is imported when a graph is first linked, not here."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.link.numba.backend import BACKEND

if TYPE_CHECKING:
    from treadle.link.numba.linker import NumbaLinker
    from treadle.link.numba.scalars import SCALARS
    from treadle.link.numba.table import TABLE
    from treadle.link.numba.text.values import ArrayValue, ScalarValue
    from treadle.link.numba.text.writer import GraphWriter

    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "link-numba",
        {
            "treadle.link.numba.text.values": "ArrayValue ScalarValue",
            "treadle.link.numba.text.writer": "GraphWriter",
            "treadle.link.numba.linker": "NumbaLinker",
            "treadle.link.numba.scalars": "SCALARS",
            "treadle.link.numba.table": "TABLE",
        },
    )

__all__ = ["BACKEND", "SCALARS", "TABLE", "ArrayValue", "GraphWriter", "NumbaLinker", "ScalarValue"]
