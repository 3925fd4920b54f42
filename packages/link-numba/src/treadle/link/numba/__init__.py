"""treadle.link.numba: the Numba backend. Numba is imported when a graph is first linked, not here."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.link.numba.backend import BACKEND

if TYPE_CHECKING:
    from treadle.link.numba.bridges import python_function
    from treadle.link.numba.calls import call_jitted
    from treadle.link.numba.jit import jit_function
    from treadle.link.numba.linker import NumbaLinker
    from treadle.link.numba.routines.externals import External
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
            "treadle.link.numba.bridges": "python_function",
            "treadle.link.numba.calls": "call_jitted",
            "treadle.link.numba.jit": "jit_function",
            "treadle.link.numba.linker": "NumbaLinker",
            "treadle.link.numba.routines.externals": "External",
            "treadle.link.numba.scalars": "SCALARS",
            "treadle.link.numba.table": "TABLE",
            "treadle.link.numba.text.values": "ArrayValue ScalarValue",
            "treadle.link.numba.text.writer": "GraphWriter",
        },
    )

__all__ = [
    "BACKEND", "SCALARS", "TABLE", "ArrayValue", "External", "GraphWriter", "NumbaLinker", "ScalarValue", "call_jitted",
    "jit_function", "python_function",
]  # fmt: skip
