"""Declaration of the Numba backend; nothing heavy is imported before it is used."""

from __future__ import annotations

from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from treadle.config import install_advice, installed_version
from treadle.link.vm import Backend, ProgramLinker

if TYPE_CHECKING:
    from collections.abc import Callable


def _linker() -> ProgramLinker:
    from treadle.link.numba.linker import NumbaLinker

    return NumbaLinker()


def _stamp() -> str:
    own, numba, llvmlite = map(installed_version, ("link-numba", "numba", "llvmlite"))
    return f"{own} numba {numba} llvmlite {llvmlite}"


def _unavailable() -> str | None:
    if find_spec("numba") is None:
        return f"numba is not installed. Install it: {install_advice('compile[numba]')}"
    return None


def _jit_function(function: Any) -> Callable[..., tuple[Any, ...]]:
    from treadle.link.numba.jit import jit_function

    return jit_function(function.wait())


BACKEND = Backend(
    name="numba",
    linker=_linker,
    include=("fusion", "normalization_by_rows"),
    exclude=("cxx_only", "BlasOpt"),
    capabilities=frozenset({"deepcopy", "fusion"}),
    version=_stamp,
    unavailable=_unavailable,
    libraries=("numba", "llvmlite"),
    priority=10,
    function_attributes=MappingProxyType({"jit_function": _jit_function}),
)
