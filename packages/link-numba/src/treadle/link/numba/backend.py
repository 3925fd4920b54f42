"""Declaration of the Numba backend; nothing heavy is imported before it is used."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from treadle.link.vm import Backend

if TYPE_CHECKING:
    from treadle.link.vm import Linker


def _linker() -> Linker:
    from treadle.link.numba.linker import NumbaLinker

    return NumbaLinker()


def _stamp() -> str:
    try:
        return f"{version('link-numba')} numba {version('numba')} llvmlite {version('llvmlite')}"
    except PackageNotFoundError:
        return "not installed"


def _unavailable() -> str | None:
    return None if find_spec("numba") is not None else "numba is not installed: pip install numba"


BACKEND = Backend(
    name="numba",
    linker=_linker,
    include=("fusion",),
    exclude=("cxx_only", "BlasOpt", "local_careduce_fusion"),
    capabilities=frozenset({"deepcopy", "fusion"}),
    version=_stamp,
    unavailable=_unavailable,
    libraries=("numba", "llvmlite"),
    priority=10,
)
