"""The options that treadle.link.c reads."""

import shutil
from typing import Any

from treadle.config import Option


def _first_compiler() -> str:
    """Return the path of the first C compiler that is installed, or an empty string."""
    return next((path for path in map(shutil.which, ("gcc", "cc", "clang")) if path), "")


OPTIONS: tuple[Option[Any], ...] = (
    Option.string(
        "cxx",
        default=_first_compiler,
        doc="The compiler driver for generated C: a path or a name. A C++ driver stands for the C driver of its "
        "family (g++ for gcc). Empty: no C. The default is the first of gcc, cc and clang that is installed.",
    ),
    Option.string(
        "gcc__cxxflags",
        default="",
        doc="More flags for the compiler, separated as in a shell. They come after treadle's own.",
    ),
    Option.string(
        "blas__ldflags",
        default="",
        doc="Link flags of the BLAS to call for matrix products, such as -lopenblas. Empty: SciPy's.",
    ),
)
