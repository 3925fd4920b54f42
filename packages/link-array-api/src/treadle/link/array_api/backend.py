"""The declaration of the backend: nothing here imports an array library."""

from __future__ import annotations

from treadle.config import config
from treadle.link.vm import Backend, ProgramLinker


def _linker() -> ProgramLinker:
    from treadle.link.array_api.linker import ArrayAPILinker

    return ArrayAPILinker()


def _about() -> dict[str, str]:
    device = config.array_api__device or "the library's default"
    return {"namespace": config.array_api__namespace, "device": device}


BACKEND = Backend(
    name="array_api",
    linker=_linker,
    # Nothing is compiled, so that there is nothing to fuse, and arrays may not be writable.
    include=("search_as_loop",),
    exclude=("fusion", "inplace", "cxx_only", "BlasOpt"),
    capabilities=frozenset({"deepcopy", "native_values"}),
    about=_about,
)
