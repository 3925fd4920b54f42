"""treadle.link.numba: the Numba backend. Numba is imported when a graph is first linked, not here."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.link.numba.backend import BACKEND

if TYPE_CHECKING:
    from treadle.link.numba.bridges import python_function
    from treadle.link.numba.calls import call_jitted
    from treadle.link.numba.dtypes import STORAGES, Storage, converted
    from treadle.link.numba.jit import jit_function
    from treadle.link.numba.linker import NumbaLinker
    from treadle.link.numba.lower.elementwise.elemwise import as_operand
    from treadle.link.numba.routines.externals import External
    from treadle.link.numba.scalars import SCALARS
    from treadle.link.numba.status import MATRIX, MEMORY, SHAPE, VALUE
    from treadle.link.numba.table import TABLE
    from treadle.link.numba.text.library import LIBRARY
    from treadle.link.numba.text.loops import Array, lengths, nest, offset, still_where
    from treadle.link.numba.text.unit import Unit, indented, make_kernel
    from treadle.link.numba.text.values import ArrayValue, ScalarValue, Value, is_literal, product
    from treadle.link.numba.text.writer import GraphWriter

    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "link-numba",
        {
            "treadle.link.numba.bridges": "python_function",
            "treadle.link.numba.calls": "call_jitted",
            "treadle.link.numba.dtypes": "STORAGES Storage converted",
            "treadle.link.numba.jit": "jit_function",
            "treadle.link.numba.linker": "NumbaLinker",
            "treadle.link.numba.lower.elementwise.elemwise": "as_operand",
            "treadle.link.numba.routines.externals": "External",
            "treadle.link.numba.scalars": "SCALARS",
            "treadle.link.numba.status": "MATRIX MEMORY SHAPE VALUE",
            "treadle.link.numba.table": "TABLE",
            "treadle.link.numba.text.library": "LIBRARY",
            "treadle.link.numba.text.loops": "Array lengths nest offset still_where",
            "treadle.link.numba.text.unit": "Unit indented make_kernel",
            "treadle.link.numba.text.values": "ArrayValue ScalarValue Value is_literal product",
            "treadle.link.numba.text.writer": "GraphWriter",
        },
    )

__all__ = [
    "BACKEND", "LIBRARY", "MATRIX", "MEMORY", "SCALARS", "SHAPE", "STORAGES", "TABLE", "VALUE", "Array",
    "ArrayValue", "External", "GraphWriter", "NumbaLinker", "ScalarValue", "Storage", "Unit", "Value",
    "as_operand", "call_jitted", "converted", "indented", "is_literal", "jit_function", "lengths", "make_kernel",
    "nest", "offset", "product", "python_function", "still_where",
]  # fmt: skip
