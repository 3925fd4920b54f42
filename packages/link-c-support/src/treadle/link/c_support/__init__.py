"""treadle.link.c_support: helper functions of the C backend, compiled beforehand.

A checkout has none: `./dev support-wheel` compiles them, into a wheel for one platform and Python.
"""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.link.c_support.files import FOLDER

if TYPE_CHECKING:
    __version__: str
else:
    __getattr__ = versioned_names(__name__, "link-c-support")

__all__ = ["FOLDER"]
