"""The documented interface of linkers for other tools: thunks on storage cells, and what makes and runs them."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.thunks.containers import Container, StorageMap, map_storage
    from treadle.surface.thunks.jit_linker import JITLinker
    from treadle.surface.thunks.linker import Linker, LocalLinker
    from treadle.surface.thunks.loops import VM, Loop, Stack, UpdatingVM
    from treadle.surface.thunks.node_thunks import calculate_reallocate_info
    from treadle.surface.thunks.thunk_program import ThunkProgram
    from treadle.surface.thunks.vm_linker import PerformLinker, VMLinker
    from treadle.surface.thunks.wrap_linker import WrapLinker, WrapLinkerMany
else:
    # Most programs need the linker of the VM alone.
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.surface.thunks.containers": "Container StorageMap map_storage",
            "treadle.surface.thunks.jit_linker": "JITLinker",
            "treadle.surface.thunks.linker": "Linker LocalLinker",
            "treadle.surface.thunks.loops": "VM Loop Stack UpdatingVM",
            "treadle.surface.thunks.node_thunks": "calculate_reallocate_info",
            "treadle.surface.thunks.thunk_program": "ThunkProgram",
            "treadle.surface.thunks.vm_linker": "PerformLinker VMLinker",
            "treadle.surface.thunks.wrap_linker": "WrapLinker WrapLinkerMany",
        },
    )

__all__ = [
    "VM",
    "Container",
    "JITLinker",
    "Linker",
    "LocalLinker",
    "Loop",
    "PerformLinker",
    "Stack",
    "StorageMap",
    "ThunkProgram",
    "UpdatingVM",
    "VMLinker",
    "WrapLinker",
    "WrapLinkerMany",
    "calculate_reallocate_info",
    "map_storage",
]
