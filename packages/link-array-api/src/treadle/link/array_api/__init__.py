"""treadle.link.array_api: the backend for libraries that follow the array API standard, imported when one is used."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.link.array_api.backend import BACKEND

if TYPE_CHECKING:
    from treadle.link.array_api.libraries import Library, library
    from treadle.link.array_api.table import ARRAY_API, SCALARS

    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "link-array-api",
        {
            "treadle.link.array_api.libraries": "Library library",
            "treadle.link.array_api.table": "ARRAY_API SCALARS",
        },
    )

__all__ = ["ARRAY_API", "BACKEND", "SCALARS", "Library", "library"]
