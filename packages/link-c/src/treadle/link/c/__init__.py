"""treadle.link.c: the C backend, a whole graph as one plain C99 file."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.link.c.backend import BACKEND, WITH_STEPS

if TYPE_CHECKING:
    from treadle.link.c.capsules import CPointer
    from treadle.link.c.conventions.dtypes import CType, ctype
    from treadle.link.c.conventions.lapack import lapack_pointer
    from treadle.link.c.errors import BackendUnavailableError
    from treadle.link.c.linker import CLinker
    from treadle.link.c.opwise import OpWiseCLinker
    from treadle.link.c.runtime.additions import HELPERS
    from treadle.link.c.table import TABLE
    from treadle.link.c.text.requirements import CFunction
    from treadle.link.c.text.scalars import SCALARS
    from treadle.link.c.text.unit import Unit
    from treadle.link.c.userops import c_function

    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "link-c",
        {
            "treadle.link.c.capsules": "CPointer",
            "treadle.link.c.conventions.dtypes": "CType ctype",
            "treadle.link.c.conventions.lapack": "lapack_pointer",
            "treadle.link.c.errors": "BackendUnavailableError",
            "treadle.link.c.linker": "CLinker",
            "treadle.link.c.opwise": "OpWiseCLinker",
            "treadle.link.c.runtime.additions": "HELPERS",
            "treadle.link.c.table": "TABLE",
            "treadle.link.c.text.requirements": "CFunction",
            "treadle.link.c.text.scalars": "SCALARS",
            "treadle.link.c.text.unit": "Unit",
            "treadle.link.c.userops": "c_function",
        },
    )

__all__ = [
    "BACKEND", "HELPERS", "SCALARS", "TABLE", "WITH_STEPS", "BackendUnavailableError", "CFunction", "CLinker",
    "CPointer", "CType", "OpWiseCLinker", "Unit", "c_function", "ctype", "lapack_pointer",
]  # fmt: skip
