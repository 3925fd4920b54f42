"""The C texts of the two support libraries, and what they are compiled with."""

from __future__ import annotations

import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import dataclass
from treadle.link.c.support.calls_text import CALLS
from treadle.link.c.support.pool_text import POOL

if TYPE_CHECKING:
    from treadle.link.c.toolchain import Toolchain

EXTENSION = "_treadle_calls"
"""The name of the module that the helper extension is."""
SUFFIX = ".so"


@dataclass(frozen=True, slots=True)
class LibrarySource:
    """The text of a library."""

    name: str
    text: str
    # The interfaces of Python and NumPy that compiled code is for: it can be used wherever they are the same.
    interfaces: tuple[str, ...] = ()

    @property
    def stamped(self) -> str:
        """The text, with the versions of Python and NumPy in front if it has their headers, which may differ."""
        if not self.interfaces:
            return self.text
        return f"/* Python {sys.version!r}, NumPy {np.__version__} */\n{self.text}"

    def has_headers(self) -> bool:
        """Whether the headers are there that it needs."""
        return not self.interfaces or (Path(sysconfig.get_path("include")) / "Python.h").exists()

    def toolchain(self, toolchain: Toolchain) -> Toolchain:
        """Return a toolchain that compiles the text."""
        flags = []
        if self.interfaces:
            flags = [f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
            flags += ["-Wl,-undefined,dynamic_lookup"] if sys.platform == "darwin" else []
        return toolchain.complete().extended(flags, ())


# The suffix of extensions names Python's version and build, and the platform, which is all that its interface depends
# on. NumPy keeps its interface for a major version, and refuses to load what was compiled for a later one than itself.
_INTERFACES = EXTENSION_SUFFIXES[0], f"NumPy {np.__version__.partition('.')[0]}"
POOL_LIBRARY = LibrarySource("treadle_pool", POOL)
EXTENSION_LIBRARY = LibrarySource(EXTENSION, CALLS, _INTERFACES)
